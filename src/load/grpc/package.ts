import { dirname } from 'node:path';
import { findModule, findPackages } from '../../environment/optional-package.js';
import { usageError } from '../../errors/millrace-error.js';

export type Protobuf = typeof import('protobufjs');
type ProtoJson = typeof import('protobufjs/ext/protojson.js');

/** The optional package that reads .proto files, and encodes JSON as messages. */
export interface ProtobufPackage {
  protobuf: Protobuf;
  json: ProtoJson;
  /** The folder of the package. */
  folder: string;
}

const NAME = 'protobufjs';

/** The first version that has the JSON mapping of protobuf. */
const FIRST_VERSION = '8.6';

/** Loads the package: the one beside this package, or that of the folder in which the process runs. */
export function loadProtobuf(): ProtobufPackage {
  const found = findPackages(NAME);
  for (const { require, path } of found) {
    const json = findModule(`${NAME}/ext/protojson.js`, require);
    if (json === null) continue;
    return { protobuf: require(path), json: require(json), folder: dirname(path) };
  }
  const [older] = found;
  throw usageError(
    older
      ? `proto needs the package ${NAME} from version ${FIRST_VERSION} on, and ${dirname(older.path)} is older: npm install ${NAME}`
      : `proto needs the package ${NAME}, which is not installed: npm install ${NAME}`,
  );
}
