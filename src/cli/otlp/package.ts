import { findPackages } from '../../environment/optional-package.js';
import { usageError } from '../../errors/millrace-error.js';
import type { Exporter } from './data.js';

const NAME = '@opentelemetry/exporter-metrics-otlp-proto';

interface ExporterPackage {
  OTLPMetricExporter: new (options: { url: string; timeoutMillis: number }) => Exporter;
}

/** Loads OpenTelemetry's exporter of metrics by OTLP over HTTP; refuses the flag where it is not installed. */
export function loadExporter(): ExporterPackage {
  const [found] = findPackages(NAME);
  if (!found) {
    throw usageError(
      `--otlp needs the package ${NAME}, which is not installed: npm install ${NAME}`,
    );
  }
  return found.require(found.path);
}
