import { isUtf8 } from 'node:buffer';
import { maskArguments } from '../masking/text.js';
import type { PodFile, PodFiles } from './pod-files.js';
import { formatYaml, type YamlValue } from './yaml.js';

type YamlObject = { [key: string]: YamlValue };

/** What the pods of a load are. */
export interface Pods {
  /** Name of the Job, the ConfigMap and the Secret. */
  name: string;
  count: number;
  image: string;
  /** What a pod requests, as Kubernetes writes quantities. */
  cpu: string;
  memory: string;
  /** The arguments of millrace. */
  args: readonly string[];
  /** The files of the load; `null`: there are none, or the image has them. */
  files: PodFiles | null;
}

/** Formats the manifest: a Job whose pods each run a share of a load, and what its pods read. */
export function formatManifest(pods: Pods): string {
  const secretArguments = findSecretArguments(pods.args);
  const files = pods.files?.files ?? [];
  const secretFiles = files.filter(({ isSecret }) => isSecret);
  const publicFiles = files.filter(({ isSecret }) => !isSecret);
  const secretData: YamlObject = {
    ...Object.fromEntries([...secretArguments].map(([name, value]) => [name, encode(value)])),
    ...Object.fromEntries(secretFiles.map(({ key, bytes }) => [key, bytes.toString('base64')])),
  };
  return formatYaml([
    ...(publicFiles.length > 0 ? [buildConfigMap(pods, publicFiles)] : []),
    ...(Object.keys(secretData).length > 0
      ? [describe(pods, 'v1', 'Secret', { type: 'Opaque', data: secretData })]
      : []),
    buildJob(pods, secretArguments),
  ]);
}

function describe(
  { name }: Pods,
  apiVersion: string,
  kind: string,
  content: YamlObject,
): YamlObject {
  return { apiVersion, kind, metadata: { name, labels: labelsOf(name) }, ...content };
}

function labelsOf(name: string): YamlObject {
  return { 'app.kubernetes.io/name': 'millrace', 'app.kubernetes.io/instance': name };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function buildConfigMap(pods: Pods, files: readonly PodFile[]): YamlObject {
  const texts = files.filter(({ bytes }) => isUtf8(bytes));
  const others = files.filter(({ bytes }) => !isUtf8(bytes));
  return describe(pods, 'v1', 'ConfigMap', {
    ...(texts.length > 0 && {
      data: Object.fromEntries(texts.map(({ key, bytes }) => [key, bytes.toString('utf8')])),
    }),
    ...(others.length > 0 && {
      binaryData: Object.fromEntries(
        others.map(({ key, bytes }) => [key, bytes.toString('base64')]),
      ),
    }),
  });
}

/** Arguments with a password or a token, by the variables that stand for them. */
function findSecretArguments(args: readonly string[]): Map<string, string> {
  const masked = maskArguments(args);
  const secrets = args.filter((word, index) => masked[index] !== word);
  return new Map(secrets.map((word, index) => [`LOAD_ARGUMENT_${index + 1}`, word]));
}

function buildJob(pods: Pods, secrets: ReadonlyMap<string, string>): YamlObject {
  const { name, count, files } = pods;
  return describe(pods, 'batch/v1', 'Job', {
    spec: {
      completions: count,
      parallelism: count,
      completionMode: 'Indexed',
      // A share that fails is not repeated, and the others go on: with backoffLimit 0 they would be deleted, with their logs.
      backoffLimitPerIndex: 0,
      template: {
        metadata: { labels: labelsOf(name) },
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labelsOf(name) },
            },
          ],
          securityContext: {
            ...{ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000 },
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [buildContainer(pods, secrets)],
          ...(files && { volumes: [buildVolume(name, files.files)] }),
        },
      },
    },
  });
}

function buildContainer(
  { name, count, image, cpu, memory, args, files }: Pods,
  secrets: ReadonlyMap<string, string>,
): YamlObject {
  const variables = new Map([...secrets].map(([variable, value]) => [value, variable]));
  return {
    name: 'millrace',
    image,
    command: ['millrace', 'load'],
    args: args.map((word) => {
      const variable = variables.get(word);
      return variable === undefined ? escapeArgument(word) : `$(${variable})`;
    }),
    env: [
      // Kubernetes adds JOB_COMPLETION_INDEX, from 0.
      { name: 'MILLRACE_SEGMENTS', value: String(count) },
      ...[...secrets.keys()].map((variable) => ({
        name: variable,
        valueFrom: { secretKeyRef: { name, key: variable } },
      })),
    ],
    resources: { requests: { cpu, memory } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    ...(files && {
      workingDir: files.workingFolder,
      volumeMounts: [{ name: 'files', mountPath: files.folder, readOnly: true }],
    }),
  };
}

/** Kubernetes replaces `$(NAME)` in arguments, and `$$` by `$`. */
function escapeArgument(word: string): string {
  return word.replaceAll('$', '$$$$');
}

/** A volume of the files of the ConfigMap and of the Secret, which have the same name. */
function buildVolume(name: string, files: readonly PodFile[]): YamlObject {
  const items = (isSecret: boolean) =>
    files.filter((file) => file.isSecret === isSecret).map(({ key, path }) => ({ key, path }));
  const [shown, hidden] = [items(false), items(true)];
  return {
    name: 'files',
    projected: {
      sources: [
        ...(shown.length > 0 ? [{ configMap: { name, items: shown } }] : []),
        ...(hidden.length > 0 ? [{ secret: { name, items: hidden } }] : []),
      ],
    },
  };
}
