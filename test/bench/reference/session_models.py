"""Session models of others in numpy and scipy: what `npm run bench -- quality --tasks=retailrocket.sessions` compares with.

    python session_models.py FOLDER

FOLDER holds item_count.u32 and two files of sessions, oldest first: train_start.u32 [sessions + 1], train_items.i32 [clicks], and
the same for test. Prints {"v_sknn": {"hr@20", "mrr@20"}, ...}: every prefix of a test session predicts the next click, all items are
ranked, and items of the prefix stay candidates. A target with the score 0 counts as missed.

V-SKNN and STAN: Ludewig and Jannach 2018, Garg et al. 2019. SLIST and S-Walk: Choi et al. 2021 and 2022. The inverses of SLIST and
S-Walk would be dense (5.5 GB each). Here each row of (G + ridge)^-1 is solved by four Jacobi steps and keeps its 150 largest entries,
as rows of the walk keep theirs: the results may differ a little from those of the dense inverses. Session ages are ranks, a minute
each, as train times are synthetic. Settings are the paper's, or the best of a few on the newest sessions of the train file.
"""
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

AT = 20
KEPT = 150
RIDGE = 10
BLOCK = 2000
f32 = np.float32


class Sessions:
    def __init__(self, folder, name, item_count):
        self.start = np.fromfile(folder / f"{name}_start.u32", np.uint32).astype(np.int64)
        self.items = np.fromfile(folder / f"{name}_items.i32", np.int32)
        self.n, self.count = item_count, len(self.start) - 1

    def of(self, session):
        return self.items[self.start[session]:self.start[session + 1]]

    def sets(self):
        """[sessions, items] of ones."""
        rows = np.repeat(np.arange(self.count), np.diff(self.start))
        x = sp.csr_matrix((np.ones(len(self.items), f32), (rows, self.items)), shape=(self.count, self.n))
        x.data[:] = 1
        return x

    def prefixes(self):
        """First position and target position of every prefix."""
        length = np.maximum(0, np.diff(self.start) - 1)
        first = np.repeat(self.start[:-1], length)
        return first, np.concatenate([np.arange(a + 1, b) for a, b in zip(self.start[:-1], self.start[1:])])


def measured(test, score):
    """score(prefix items) of a list of prefixes: [prefixes, items]."""
    first, target = test.prefixes()
    hits = reciprocal = 0
    for at in range(0, len(target), 400):
        block = slice(at, at + 400)
        scores = score([test.items[a:b] for a, b in zip(first[block], target[block])])
        wanted = test.items[target[block]]
        own = scores[np.arange(len(wanted)), wanted][:, None]
        rank = (scores > own).sum(1) + (scores == own).sum(1)
        found = (rank <= AT) & (own[:, 0] > 0)
        hits += found.sum()
        reciprocal += (found / rank).sum()
    return {f"hr@{AT}": hits / len(target), f"mrr@{AT}": reciprocal / len(target)}


def neighbours(x, sample):
    """The newest `sample` sessions that share an item with the prefix, and for each item of the prefix which of them have it."""
    def find(last):
        sessions = np.unique(np.concatenate([x.indices[x.indptr[i]:x.indptr[i + 1]] for i in last]))[-sample:]
        return sessions, {i: np.isin(sessions, x.indices[x.indptr[i]:x.indptr[i + 1]]) for i in last}
    return find


def v_sknn(train, k=500, sample=1000, idf_weight=5):
    x = train.sets().tocsc()
    find, idf = neighbours(x, sample), np.log(train.count / np.maximum(1, np.diff(x.indptr)))

    def score(prefixes):
        out = np.zeros((len(prefixes), train.n), f32)
        for row, prefix in zip(out, prefixes):
            last = {item: at + 1 for at, item in enumerate(prefix)}
            sessions, has = find(last)
            similar, newest = np.zeros(len(sessions)), np.zeros(len(sessions), int)
            for item, at in last.items():
                similar += has[item] / np.log10(len(prefix) - at + 1.7)
                newest = np.maximum(newest, has[item] * at)
            for c in np.argsort(-similar, kind="stable")[:k]:
                decay = max(0, 1 - 0.1 * (len(prefix) - newest[c]))
                items = np.unique(train.of(sessions[c]))
                row[items] += similar[c] / len(prefix) * decay * (1 + idf_weight * idf[items])
        return out
    return score


def stan(train, k=500, sample=5000, prefix_decay=2, days=100, near=2):
    find, length = neighbours(train.sets().tocsc(), sample), np.diff(train.start)

    def score(prefixes):
        out = np.zeros((len(prefixes), train.n), f32)
        for row, prefix in zip(out, prefixes):
            last = {item: at for at, item in enumerate(prefix)}
            sessions, has = find(last)
            similar, newest = np.zeros(len(sessions)), np.zeros(len(sessions), int)
            for item, at in last.items():
                similar += has[item] * np.exp(-(len(prefix) - 1 - at) / prefix_decay)
                newest = np.maximum(newest, has[item] * at)
            similar *= np.exp(-(train.count - 1 - sessions) / 1440 / days) / np.sqrt(len(prefix) * length[sessions])
            for c in np.argsort(-similar, kind="stable")[:k]:
                items = train.of(sessions[c])
                matched = np.nonzero(items == prefix[newest[c]])[0].max()
                np.add.at(row, items, similar[c] * np.exp(-abs(np.arange(len(items)) - matched) / near))
        return out
    return score


def l1(m):
    total = np.asarray(abs(m).sum(1)).ravel()
    return (sp.diags(1 / np.where(total > 0, total, 1)).astype(f32) @ m).tocsr()


def largest(m, k):
    m = m.tocsr()
    for row in range(m.shape[0]):
        values = m.data[m.indptr[row]:m.indptr[row + 1]]
        if len(values) > k:
            values[np.argpartition(-abs(values), k)[k:]] = 0
    m.eliminate_zeros()
    return m


def by_rows(n, rows_of):
    return sp.vstack([rows_of(slice(at, min(n, at + BLOCK))) for at in range(0, n, BLOCK)]).tocsr()


def statistics(train, gap_decay, days):
    """Input moments and input-to-target sums of whole sessions, then of prefixes and the clicks after them."""
    age = np.exp(-(train.count - 1 - np.arange(train.count)) / 1440 / days).astype(f32)
    whole = train.sets()
    source, target = [[], [], []], [[], [], []]
    owner, row = [], 0
    for session in range(train.count):
        items = train.of(session)
        near = np.exp(-np.arange(min(len(items), 1 + int(14 * gap_decay))) / gap_decay)
        for t in range(1, len(items)):
            for (rows, columns, values), part in ((source, items[:t][::-1][:len(near)]), (target, items[t:][:len(near)])):
                rows.append(np.full(len(part), row))
                columns.append(part)
                values.append(near[:len(part)])
            owner.append(session)
            row += 1
    matrix = lambda part: sp.csr_matrix((np.concatenate(part[2]).astype(f32), (np.concatenate(part[0]), np.concatenate(part[1]))),
                                        shape=(row, train.n))
    result = []
    for x, y, weights in ((whole, whole, age), (matrix(source), matrix(target), age[owner])):
        scaled = (sp.diags(weights) @ l1(x)).T.tocsr()
        result += [(scaled @ l1(x)).tocsr(), (scaled @ y).tocsr()]
    return result


def solved(moments, sums):
    """Rows of (moments + ridge)^-1 sums."""
    n, diagonal = moments.shape[0], moments.diagonal() + RIDGE
    inverse = sp.diags(1 / diagonal).astype(f32)
    other = ((moments - sp.diags(moments.diagonal())) @ inverse).tocsr().astype(f32)

    def rows_of(rows):
        first = last = inverse.tocsr()[rows]
        for _ in range(4):
            last = largest(first - last @ other, KEPT)
        return largest(last @ sums, 2 * KEPT)
    return by_rows(n, rows_of)


def linear(weights, decay):
    def score(prefixes):
        rows = np.repeat(np.arange(len(prefixes)), [len(p) for p in prefixes])
        values = np.concatenate([np.exp(-np.arange(len(p))[::-1] / decay) for p in prefixes])
        history = sp.csr_matrix((values.astype(f32), (rows, np.concatenate(prefixes))), shape=(len(prefixes), weights.shape[0]))
        return (history @ weights).toarray()
    return score


def walked(transition, teleport, stay, p, steps=5):
    """(1 - p) sum over k of p^k teleport transition^k."""
    positive = lambda m: l1(m.maximum(0))
    transition = positive(transition)
    teleport = ((1 - stay) * positive(teleport) + stay * sp.identity(teleport.shape[0], dtype=f32)).tocsr()

    def rows_of(rows):
        begin = sum_of_steps = (1 - p) * teleport[rows]
        for _ in range(steps):
            sum_of_steps = largest(begin + p * (sum_of_steps @ transition), KEPT)
        return sum_of_steps
    return by_rows(teleport.shape[0], rows_of)


def main(folder):
    item_count = int(np.fromfile(folder / "item_count.u32", np.uint32)[0])
    train, test = (Sessions(folder, name, item_count) for name in ("train", "test"))
    say = lambda name, score: print(name, found := measured(test, score), file=sys.stderr, flush=True) or found
    moments, sums, part_moments, part_sums = statistics(train, gap_decay=0.25, days=256)
    teleport, transition = solved(moments, sums), solved(part_moments, part_sums)
    alpha = 0.8
    slist = solved(alpha * moments + (1 - alpha) * part_moments, alpha * sums + (1 - alpha) * part_sums)
    result = {"slist": say("slist", linear(slist, 4))}
    # The first is the paper's setting for RetailRocket; the second one finds less and ranks it higher.
    for name, stay, p in (("s_walk", 0.1, 0.5), ("s_walk_staying", 0.5, 0.5)):
        result[name] = say(name, linear(walked(transition, teleport, stay, p), 4))
    result |= {"stan": say("stan", stan(train)), "v_sknn": say("v_sknn", v_sknn(train))}
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
