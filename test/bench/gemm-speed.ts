import { openGemm } from "../../trainer/learn/numerics/linear-algebra/gemm.ts";

const SIZE = 1024;
const RUNS = 10;

/**
 * GFLOPS of a product of two 1024 × 1024 matrices, best of ten: by wall time on all cores, or by CPU time on one
 * thread.
 */
export async function gemmGflops(by: "wall" | "cpu"): Promise<number> {
  const gemm = by === "cpu" ? openGemm(1) : openGemm();
  const [a, b, into] = [0.5, 0.5, 0].map((value) => new Float32Array(SIZE * SIZE).fill(value));
  const matrix = (values: Float32Array) => ({ rows: SIZE, columns: SIZE, values });
  const now = () => (by === "wall" ? performance.now() / 1000 : cpuSeconds());
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < RUNS; i++) {
    const begin = now();
    await gemm.multiply({ a: matrix(a!), b: matrix(b!), into: into! });
    best = Math.min(best, now() - begin);
  }
  await gemm.close();
  return (2 * SIZE ** 3) / best / 1e9;
}

/** CPU time of this process over all threads, which other processes do not affect. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
