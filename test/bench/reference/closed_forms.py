"""The closed forms of trainer/learn as one would write them in numpy and scipy: what `npm run bench -- training` compares with.

    python closed_forms.py FOLDER

FOLDER holds wanted.json (method, params, sizes, users to score) and the interactions by user, oldest first: start.u32
[users + 1], items.i32 and times.u32 [rows], and the items' features in compressed rows. Writes scores.f32 [users to score, items]
there and prints {"seconds", "peak_mb"}: of the fit alone, the best of the wanted number of runs, and of the process.
"""
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import svds

ROW_MAX = 2000


class Data:
    def __init__(self, folder, wanted):
        read = lambda name, kind: np.fromfile(folder / name, kind)
        self.n = wanted["item_count"]
        self.start = read("start.u32", np.uint32).astype(np.int64)
        self.items = read("items.i32", np.int32)
        self.times = read("times.u32", np.uint32)
        self.users = len(self.start) - 1
        self.set_max, self.sequence_max = wanted["set_history_max"], wanted["sequence_max"]
        indptr, indices, values = (read(f"features.{name}", kind) for name, kind in
                                   (("start.u32", np.uint32), ("columns.i32", np.int32), ("values.f32", np.float32)))
        self.features = sp.csr_matrix((values, indices, indptr), shape=(self.n, wanted["feature_count"]))

    def newest(self, most):
        """The histories' newest rows: where each begins, and the items."""
        length = np.diff(self.start)
        kept = np.arange(len(self.items)) >= np.repeat(self.start[1:] - np.minimum(length, most), length)
        return np.concatenate([[0], np.cumsum(np.minimum(length, most))]), self.items[kept]

    def sets(self, most=None):
        """[users, items] of ones."""
        start, items = self.newest(most or len(self.items) + 1)
        ones = np.ones(len(items), np.float32)
        x = sp.csr_matrix((ones, (np.repeat(np.arange(self.users), np.diff(start)), items)), shape=(self.users, self.n))
        x.data[:] = 1
        return x


def gram(x, exponent):
    """XᵀWX with W = length^−exponent, sparse, and the scaled X."""
    length = np.maximum(1, np.diff(x.indptr))
    scaled = sp.diags((length ** (-exponent / 2)).astype(np.float32)) @ x
    return (scaled.T @ scaled).tocsr(), length


def ridge_of(moments, strength, exponent):
    mean = moments[moments > 0].mean()
    return np.maximum(strength * moments ** exponent * mean ** (1 - exponent), 1e-3 * mean)


def popularity(data, p):
    half = p["halfLifeDays"]
    weights = None if half == 0 else np.exp2((data.times.astype(np.float64) - data.times.max()) / (86400 * half))
    counts = np.bincount(data.items, weights, data.n)
    return lambda user: counts


def set_scores(data, weights, bias=0):
    x = data.sets(data.set_max)
    return lambda user: dense_row(x[user] @ weights) + bias


def dense_row(row):
    return np.asarray(row.todense() if sp.issparse(row) else row).ravel()


def strongest(g, keep):
    """The largest `keep` of each row or column, whichever the matrix is compressed by."""
    for own in range(len(g.indptr) - 1):
        values = g.data[g.indptr[own]:g.indptr[own + 1]]
        if len(values) > keep:
            values[np.argpartition(values, len(values) - keep)[:-keep]] = 0
    g.eliminate_zeros()
    return g


def local_weights(a, ridge, right, neighbours, own_excluded):
    """Each target's regression on the features that it occurs with most for their size. a: csr; right: csc [features, targets]."""
    diagonal = a.diagonal()
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1))
    columns, rows, values = [], [], []
    is_dense = a.shape[0] ** 2 * 4 < 2 ** 30
    source = a.toarray() if is_dense else a
    for target in range(right.shape[1]):
        at = slice(right.indptr[target], right.indptr[target + 1])
        near, sums = right.indices[at], right.data[at]
        if own_excluded:
            near, sums = near[near != target], sums[near != target]
        if len(near) == 0:
            continue
        if len(near) > neighbours:
            kept = np.argpartition(sums / root[near], len(near) - neighbours)[-neighbours:]
            near, sums = near[kept], sums[kept]
        system = source[np.ix_(near, near)] if is_dense else source[near][:, near].toarray()
        system[range(len(near)), range(len(near))] += ridge[near]
        values.append(scipy.linalg.solve(system, sums, assume_a="pos", check_finite=False))
        rows.append(near)
        columns.append(np.full(len(near), target))
    flat = [np.concatenate(part) for part in (values, rows, columns)]
    return sp.csr_matrix((flat[0], (flat[1], flat[2])), shape=right.shape)


def local_ridge(data, p):
    g, _ = gram(data.sets(data.set_max), p["userExponent"])
    ridge = ridge_of(g.diagonal().astype(np.float64), p["lambda"], p["penaltyExponent"])
    return set_scores(data, local_weights(g, ridge, g.tocsc(), p["neighbours"], True))


def graph_filter(data, p):
    x = data.sets(data.set_max)
    length = np.maximum(1, np.diff(x.indptr))
    counts = np.asarray(x.sum(0)).ravel()
    divisor = np.where(counts > 0, counts, 1) ** p["itemExponent"]
    r = (sp.diags(length ** -p["userExponent"]) @ x @ sp.diags(1 / divisor)).astype(np.float32).tocsr()
    _, sigma, vt = svds(r, k=min(p["rank"], min(r.shape) - 1))
    near = strongest((r.T @ r).tocsr(), ROW_MAX) / sigma.max() ** 2
    sets = data.sets(data.set_max)

    def score(user):
        row = sets[user]
        smooth = ((row @ sp.diags(1 / divisor)) @ vt.T) @ vt * divisor
        return dense_row(row @ near) + p["smooth"] * dense_row(smooth)
    return score


def implicit_als(data, p):
    x = data.sets()
    xt = x.T.tocsr()
    rank, rng = p["rank"], np.random.default_rng(1)
    m, n = int((np.diff(x.indptr) > 0).sum()), int((np.diff(xt.indptr) > 0).sum())
    alpha = p["density"] * x.nnz / (m * n)
    ridge = lambda count, others: p["penalty"] * (count + alpha * others) ** p["frequencyExponent"]

    def solved(rows, fixed, others):
        base = alpha * fixed.T @ fixed
        result = np.zeros((rows.shape[0], rank), np.float32)
        for row in range(rows.shape[0]):
            own = fixed[rows.indices[rows.indptr[row]:rows.indptr[row + 1]]]
            if len(own):
                system = base + own.T @ own
                system[range(rank), range(rank)] += ridge(len(own), others)
                result[row] = np.linalg.solve(system, own.sum(0))
        return result

    items = (rng.standard_normal((data.n, rank)) * 0.1 / np.sqrt(rank)).astype(np.float32)
    for _ in range(p["iterations"]):
        users = solved(x, items, n)
        items = solved(xt, users, m)
    counts = np.diff(xt.indptr)
    expected = items.T @ ((alpha + counts / m)[:, None] * items) + ridge(x.nnz / m, n) * np.eye(rank)
    left = np.linalg.solve(expected, items.T).T
    sets = data.sets(data.set_max)
    return lambda user: dense_row(sets[user] @ left) @ items.T


def pairs(data, reverse):
    """Histories' start and end for every row, and the items; read backwards if asked for."""
    start, items = data.newest(data.sequence_max)
    length = np.diff(start)
    first, end = np.repeat(start[:-1], length), np.repeat(start[1:], length)
    at = np.arange(len(items))
    return first, end, items[first + end - 1 - at] if reverse else items


def sequence_statistics(data, p):
    """A [features, features] and C [features, items] as sparse matrices: see trainer/learn/sequential-statistics.ts."""
    looks = [(p[f"{name}Scale"], p[f"{name}Window"]) for name in ("long", "middle", "short") if p.get(f"{name}Scale", 0) > 0]
    n, size = data.n, len(looks) * data.n + 1
    a, c = sp.csr_matrix((size, size)), sp.csr_matrix((size, n))
    for factor, reverse in ((1, False), (p["reversed"], True)):
        if factor == 0:
            continue
        first, end, items = pairs(data, reverse)
        at = np.arange(len(items))
        last = end - 2  # the last position that has a target

        def add(rows, columns, values, shape):
            return sp.csr_matrix((factor * values, (rows, columns)), shape=shape)

        for d, (scale, window) in enumerate(looks):
            cumulated = np.concatenate([[0], np.cumsum(np.exp(-np.arange(window) / scale))])
            seen = at <= last
            sums = cumulated[np.minimum(window, last - at + 1)[seen]]
            rows = d * n + items[seen]
            a = a + add(rows, np.full(len(rows), size - 1), sums, a.shape) + add(np.full(len(rows), size - 1), rows, sums, a.shape)
            parts = []
            for lag in range(1, window + 1):  # the target stands `lag` behind the source
                q = at[at + lag < end]
                parts.append((d * n + items[q], items[q + lag], np.full(len(q), np.exp(-(lag - 1) / scale))))
            c = c + add(*(np.concatenate(part) for part in zip(*parts)), c.shape)
            for e, (other_scale, other_window) in enumerate(looks):
                products = np.exp(-np.arange(max(window, other_window)) * (1 / scale + 1 / other_scale))
                cumulated = np.concatenate([[0], np.cumsum(products)])
                parts = []
                for lag in range(other_window):  # the entry under look e stands `lag` before the one under look d
                    now = at[(at - lag >= first) & (at <= last)]
                    met = np.minimum(np.minimum(window, other_window - lag), last[now] - now + 1)
                    parts.append((d * n + items[now], e * n + items[now - lag], np.exp(-lag / other_scale) * cumulated[met]))
                rows, columns, values = (np.concatenate(part) for part in zip(*parts))
                same = (at <= last).sum()  # the first part: lag 0, met once
                a = a + add(rows, columns, values, a.shape) + add(columns[same:], rows[same:], values[same:], a.shape)
        following = at[at > first]
        c = c + add(np.full(len(following), size - 1), items[following], np.ones(len(following)), c.shape)
        a = a + sp.csr_matrix(([factor * (at <= last).sum()], ([size - 1], [size - 1])), shape=a.shape)
    diagonal = a.diagonal()
    mean = diagonal[:-1][diagonal[:-1] > 0].mean()
    return looks, a, c, np.append(np.full(size - 1, p["lambda"] * mean), 1)


def sequence_scores(data, looks, weights):
    def score(user):
        history = data.items[data.start[user]:data.start[user + 1]][::-1]
        total = dense_row(weights[-1]).astype(np.float64)
        for d, (scale, window) in enumerate(looks):
            for position, item in enumerate(history[:window]):
                total = total + np.exp(-position / scale) * dense_row(weights[d * data.n + item])
        return total
    return score


def sequential_ridge(data, p):
    looks, a, c, ridge = sequence_statistics(data, p)
    dense = a.toarray().astype(np.float32)
    dense[range(len(ridge)), range(len(ridge))] += ridge.astype(np.float32)
    right = c.toarray().astype(np.float32)
    weights = scipy.linalg.solve(dense, right, assume_a="pos", overwrite_a=True, overwrite_b=True, check_finite=False)
    return sequence_scores(data, looks, weights)


def sequential_local_ridge(data, p):
    looks, a, c, ridge = sequence_statistics(data, p)
    return sequence_scores(data, looks, local_weights(a.tocsr(), ridge, c.tocsc(), p["neighbours"], False))


def attribute_ridge(data, p):
    x = data.sets(data.set_max)
    g, _ = gram(x, 1)
    counts = np.maximum(1, np.asarray(x.sum(0)).ravel())
    g.setdiag(0)
    profiles = ((sp.diags(1 / counts) @ g @ sp.diags(counts ** -0.5)) @ data.features).toarray()
    known = data.features[np.asarray(x.sum(0)).ravel() > 0]
    normal = (known.T @ known).toarray() + p["lambda"] * np.eye(data.features.shape[1], dtype=np.float32)
    solved = data.features @ np.linalg.inv(normal)
    kept = []
    for first in range(0, data.n, 512):
        scores = profiles[first:first + 512] @ solved.T
        bar = np.partition(scores, data.n - p["neighbours"])[:, -p["neighbours"], None]
        scores[(scores < bar) | (scores <= 0)] = 0
        kept.append(sp.csr_matrix(scores))
    weights = sp.vstack(kept).tocsr()
    weights.setdiag(0)
    return set_scores(data, weights)


def main(folder):
    wanted = json.loads((folder / "wanted.json").read_text())
    data = Data(folder, wanted)
    best = float("inf")
    for _ in range(wanted["runs"]):
        begin = time.perf_counter()
        score = globals()[wanted["method"]](data, wanted["params"])
        best = min(best, time.perf_counter() - begin)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.asarray([score(user) for user in wanted["users"]], np.float32).tofile(folder / "scores.f32")
    print(json.dumps({"seconds": best, "peak_mb": peak_mb}))


main(Path(sys.argv[1]))
