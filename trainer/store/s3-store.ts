import { checkKey, type ListedObject, type ObjectStore, StoreError } from "./object-store.ts";
import { errorCodeOf, type S3Answer, type S3Options, type S3Request, s3Request } from "./s3-request.ts";

const WHOLE_BYTES_EXPECTED = 64 * 2 ** 20; // larger objects are read in ranges

/** A bucket of R2, or of another store whose S3 API has conditional writes. */
export function s3Store(options: S3Options): ObjectStore {
  const request = s3Request(options);
  const refuse = (answer: S3Answer, what: string) => refusal(answer, what, options);

  return {
    async putIfAbsent(key, body, contentType) {
      checkKey(key);
      const headers = { "content-type": contentType, "if-none-match": "*" };
      const answer = await request({ method: "PUT", key, headers, body });
      if (answer.status !== 200 && !isConditionFailed(answer)) throw refuse(answer, `store ${key}`);
    },
    async get(key, range) {
      checkKey(key);
      if (range?.length === 0) throw new StoreError(`A range of ${key} must have at least one byte.`);
      const headers = range ? { range: `bytes=${range.offset}-${range.offset + range.length - 1}` } : {};
      const expectedBytes = range?.length ?? WHOLE_BYTES_EXPECTED;
      const answer = await request({ method: "GET", key, headers, expectedBytes });
      if (isAbsent(answer)) return undefined;
      if (answer.status === 416) return { bytes: new Uint8Array(0), etag: etagOf(answer) };
      if (answer.status !== (range ? 206 : 200)) throw refuse(answer, `read ${key}`);
      return { bytes: answer.bytes, etag: etagOf(answer) };
    },
    async head(key) {
      checkKey(key);
      const answer = await request({ method: "HEAD", key });
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw refuse(answer, `look up ${key}`);
      return Number(answer.headers.get("content-length") ?? Number.NaN);
    },
    async swap(key, bytes, etag) {
      checkKey(key);
      const condition = etag === null ? { "if-none-match": "*" } : { "if-match": `"${etag}"` };
      const headers = { "content-type": "application/json", ...condition };
      const answer = await request({ method: "PUT", key, headers, body: bytes });
      if (answer.status === 200) return etagOf(answer);
      if (!isConditionFailed(answer) && !isAbsent(answer)) throw refuse(answer, `swap ${key}`);
      if (answer.lostAnswers === 0) return undefined;
      // An attempt of this call whose answer was lost may have written the object.
      const found = await this.get(key);
      return found && Buffer.compare(found.bytes, bytes) === 0 ? found.etag : undefined;
    },
    list: (prefix) => listPages(request, prefix, refuse),
    async delete(key) {
      checkKey(key);
      const answer = await request({ method: "DELETE", key });
      if (answer.status !== 204 && answer.status !== 200 && !isAbsent(answer)) throw refuse(answer, `delete ${key}`);
    },
  };
}

async function* listPages(
  request: S3Request,
  prefix: string,
  refuse: (answer: S3Answer, what: string) => StoreError,
): AsyncGenerator<ListedObject> {
  let after = ""; // pages continue after the last key, because a page token may become invalid when objects are deleted
  for (;;) {
    const query = { "list-type": "2", prefix, "max-keys": "1000", ...(after && { "start-after": after }) };
    const answer = await request({ method: "GET", key: "", query });
    if (answer.status !== 200) throw refuse(answer, `list ${prefix}`);
    const xml = new TextDecoder().decode(answer.bytes);
    const page = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry]) => listedObject(entry!));
    const isTruncated = field(xml, "IsTruncated");
    if (isTruncated === "") throw new StoreError(`What was answered is no list of ${prefix}.`, { retryable: true });
    yield* page;
    if (isTruncated !== "true") return;
    if (page.length === 0) throw new StoreError(`The list of ${prefix} says that more follows, and shows nothing.`);
    after = page.at(-1)!.key;
  }
}

/** Keys of this store (`checkKey`) have no character that XML escapes. */
const listedObject = (entry: string): ListedObject => ({
  key: field(entry, "Key"),
  size: Number(field(entry, "Size")),
  modifiedMs: Date.parse(field(entry, "LastModified")),
});

const field = (xml: string, tag: string) => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1] ?? "";

/** R2 quotes its etags; inside the trainer they have no quotes. */
const etagOf = (answer: S3Answer) => (answer.headers.get("etag") ?? "").replace(/^W\//, "").replaceAll('"', "");
const isConditionFailed = ({ status }: S3Answer) => status === 412;
/** Only a 404 of the store itself counts; a proxy may answer 404 for another reason. */
const isAbsent = (answer: S3Answer) => answer.status === 404 && errorCodeOf(answer.bytes).startsWith("NoSuchKey");

function refusal(answer: S3Answer, what: string, { bucket, endpoint }: S3Options): StoreError {
  const code = errorCodeOf(answer.bytes);
  const hint =
    answer.status === 401 || answer.status === 403
      ? ": check the access key id, its secret, and that it may read and write this bucket"
      : code.startsWith("NoSuchBucket")
        ? ": create the bucket or correct its name"
        : "";
  const found = `${answer.status} ${code}`.trimEnd();
  return new StoreError(`Could not ${what} in bucket ${JSON.stringify(bucket)} at ${endpoint}: ${found}${hint}.`);
}
