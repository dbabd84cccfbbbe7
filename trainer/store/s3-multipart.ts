import { type ObjectBody, StoreError } from "./object-store.ts";
import { errorCodeOf, type S3Answer, type S3Request } from "./s3-request.ts";

/** Uploads of parts at a time. */
const CONCURRENCY = 3;

/** Stores a large body in parts, so that a broken connection costs one part. The object appears when all parts are stored. */
export async function putInParts(
  request: S3Request,
  key: string,
  { body, contentType, partBytes }: { body: ObjectBody; contentType: string; partBytes: number },
): Promise<void> {
  const headers = { "content-type": contentType };
  const created = expect200(await request({ method: "POST", key, query: { uploads: "" }, headers }), key);
  const uploadId = /<UploadId>([^<]+)<\/UploadId>/.exec(new TextDecoder().decode(created.bytes))?.[1];
  if (uploadId === undefined) throw new StoreError(`The store opened no multipart upload for ${key}.`);
  try {
    const etags = await putParts(request, { key, uploadId, body, partBytes });
    await complete(request, { key, uploadId, etags });
  } catch (error) {
    // The parts of an abandoned upload would be stored, and billed, for days.
    await request({ method: "DELETE", key, query: { uploadId } }).catch(() => undefined);
    throw error;
  }
}

type Upload = { readonly key: string; readonly uploadId: string };

/** Etags of the parts, in order. After a failure no further part begins, and the failure is thrown once all others have ended. */
async function putParts(
  request: S3Request,
  { key, uploadId, body, partBytes }: Upload & { readonly body: ObjectBody; readonly partBytes: number },
): Promise<string[]> {
  const size = body instanceof Blob ? body.size : body.length;
  const etags = new Array<string>(Math.ceil(size / partBytes));
  let next = 0;
  const work = async () => {
    while (next < etags.length) {
      const part = next++;
      const [from, to] = [part * partBytes, Math.min(size, (part + 1) * partBytes)];
      const query = { partNumber: String(part + 1), uploadId };
      const slice = body instanceof Blob ? body.slice(from, to) : body.subarray(from, to);
      const answer = expect200(await request({ method: "PUT", key, query, body: slice }), key);
      etags[part] = answer.headers.get("etag") ?? "";
    }
  };
  const failures: unknown[] = [];
  const recordFailure = (error: unknown) => {
    failures.push(error);
    next = etags.length;
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, etags.length) }, () => work().catch(recordFailure)));
  if (failures.length > 0) throw failures[0];
  return etags;
}

async function complete(
  request: S3Request,
  { key, uploadId, etags }: Upload & { readonly etags: readonly string[] },
): Promise<void> {
  const parts = etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`);
  const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
  const answer = await request({ method: "POST", key, query: { uploadId }, body });
  if (answer.lostAnswers > 0 && answer.status === 404) {
    // An earlier attempt may have completed the upload although its answer was lost.
    if ((await request({ method: "HEAD", key })).status === 200) return;
  }
  expect200(answer, key);
}

/** Checks the status and the body: S3 may answer 200 with an error in the body. */
function expect200(answer: S3Answer, key: string): S3Answer {
  const code = errorCodeOf(answer.bytes);
  if (answer.status === 200 && code === "") return answer;
  throw new StoreError(`The multipart upload of ${key} was answered ${answer.status} ${code}`.trimEnd());
}

const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
