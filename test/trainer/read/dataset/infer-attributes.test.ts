import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FeatureType } from "../../../../shared/feature-type.ts";
import { typeAttribute } from "../../../../trainer/read/dataset/infer-attributes.ts";
import { openStaging, readStaged, runStaged, type Staging } from "../../../../trainer/read/dataset/staging.ts";

let folder: string;
let staging: Staging;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "infer-attributes-"));
  staging = await openStaging({ workDirectory: folder, memoryMb: 128, signal: new AbortController().signal });
});
afterAll(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

/** The inferred type of a column of SQL values, and the resulting values. */
async function read(values: string, declared?: FeatureType): Promise<unknown> {
  await runStaged(staging, `CREATE OR REPLACE TABLE t AS SELECT * FROM (VALUES ${values}) v(c)`);
  const type = (await staging.connection.runAndReadAll("SELECT c FROM t")).columnType(0);
  const typed = await typeAttribute({ staging, table: "t" }, { sql: "c", name: "c", type }, declared);
  if ("leftOut" in typed) return "left out";
  const rows = await readStaged(staging, `SELECT ${typed.value} AS v FROM t`);
  return [typed.type, rows.map(({ v }) => v)];
}

/** What is said about a column. */
async function noteOn(values: string, declared?: FeatureType): Promise<string> {
  await runStaged(staging, `CREATE OR REPLACE TABLE t AS SELECT * FROM (VALUES ${values}) v(c)`);
  const type = (await staging.connection.runAndReadAll("SELECT c FROM t")).columnType(0);
  const typed = await typeAttribute({ staging, table: "t" }, { sql: "c", name: "c", type }, declared);
  return "leftOut" in typed ? typed.leftOut : (typed.note ?? "");
}

const many = (make: (n: number) => string, count = 60) =>
  Array.from({ length: count }, (_, n) => `('${make(n)}')`).join(", ");

test.each<[string, unknown]>([
  ["(1), (2), (NULL)", ["Numerical", [1, 2, null]]],
  ["(1.5::DECIMAL(5,2))", ["Numerical", [1.5]]],
  ["(9.99::FLOAT), ('inf'::FLOAT)", ["Numerical", [9.99, null]]],
  ["(9007199254740991), (-9007199254740991)", ["Numerical", [9007199254740991, -9007199254740991]]],
  ["(9007199254740993), (2)", ["Category", ["9007199254740993", "2"]]],
  ["(12345678901234567890::DECIMAL(38,0))", ["Category", ["12345678901234567890"]]],
  ["(9223372036854775807), (2)", ["Numerical", [2 ** 63, 2]]], // for no limit
  ["('9007199254740993'), ('2')", ["Category", ["9007199254740993", "2"]]],
  ["('36_38'), ('40')", ["Category", ["36_38", "40"]]],
  ["('nan'::DOUBLE), (2)", ["Numerical", [null, 2]]],
  ["(true), (false), (NULL)", ["Boolean", [1, 0, null]]],
  ["(DATE '2024-01-02')", ["Timestamp", [1_704_153_600]]],
  ["(TIMESTAMPTZ '2024-01-02 02:00:00+02')", ["Timestamp", [1_704_153_600]]],
  ["('1'), ('2.5'), (''), (NULL)", ["Numerical", [1, 2.5, null, null]]],
  ["('007'), ('010')", ["Category", ["007", "010"]]], // a code, not a number
  ["('yes'), ('No'), (NULL)", ["Boolean", [1, 0, null]]],
  ["('2024-01-02'), ('2024-01-02T00:00:10Z')", ["Timestamp", [1_704_153_600, 1_704_153_610]]],
  ["('a|b'), ('b'), (''), (NULL)", ["CategoryList", [["a", "b"], ["b"], null, null]]],
  ["(' b | a |a||')", ["CategoryList", [["a", "b"]]]],
  ["(['b', 'a', 'a', NULL, '']), (NULL), ([])", ["CategoryList", [["a", "b"], null, []]]],
  ["([2, 1])", ["CategoryList", [["1", "2"]]]],
  ["([36, 37.5, NULL]::DOUBLE[])", ["CategoryList", [["36", "37.5"]]]],
  ["(['nan'::DOUBLE, 4, 'inf'])", ["CategoryList", [["4"]]]],
  ["([9.99, 4]::FLOAT[])", ["CategoryList", [["4", "9.99"]]]],
  ["([1.50, 10.00, 0]::DECIMAL(5,2)[])", ["CategoryList", [["0", "1.5", "10"]]]],
  ["('red'), ('blue'), ('red')", ["Category", ["red", "blue", "red"]]],
  ["('\u00a0red '), (' \ufeff red')", ["Category", ["red", "red"]]],
  ["('2024-01-02 '), ('2024-01-02T00:00:10Z')", ["Timestamp", [1_704_153_600, 1_704_153_610]]],
  ["('x'::ENUM('x', 'y'))", ["Category", ["x"]]],
  ["('2024-01-02'::ENUM('2024-01-02'))", ["Timestamp", [1_704_153_600]]],
  ["(NULL::VARCHAR), ('')", ["Text", [null, null]]],
  ["({'a': 1})", "left out"],
  ["({'lat': 1.5, 'lon': 2}), (NULL)", ["Location", ['{"lat":1.5,"lon":2}', null]]],
  ["({'type': 'Point', 'coordinates': [2, 1.5]})", ["Location", ['{"type":"Point","coordinates":[2.0,1.5]}']]],
  ["('POINT(13.4 52.5)'), (' point z (1 2 3)'), ('')", ["Location", ["POINT(13.4 52.5)", "point z (1 2 3)", null]]],
  ["('52.5200,13.4050'), ('N/A')", ["Location", ["52.5200,13.4050", null]]],
  [`('{"lng": "2", "id": 5, "lat": 1.5}')`, ["Location", ['{"lng": "2", "id": 5, "lat": 1.5}']]],
  [`('{"type": "Point", "coordinates": [2, 1.5]}')`, ["Location", ['{"type": "Point", "coordinates": [2, 1.5]}']]],
  [
    "('0101000020E6100000000000000000F03F0000000000000040')",
    ["Location", ["0101000020E6100000000000000000F03F0000000000000040"]],
  ],
  ["('52,13'), ('52,14')", ["Numerical", [52.13, 52.14]]],
  ["(MAP {'a': 1})", "left out"],
  ["('ab'::BLOB)", "left out"],
  ["([[1]])", "left out"],
])("%s → %j", async (values, expected) => {
  const got = await read(values);
  const empty = (value: unknown) => (Array.isArray(value) && value.length === 0 ? null : value);
  const plain = (of: unknown) => (Array.isArray(of) ? [of[0], (of[1] as unknown[]).map(empty)] : of);
  expect(plain(got)).toEqual(plain(expected));
});

const typeOf = async (values: string) => ((await read(values)) as unknown[])[0];

test("texts that are all different are Text; repeating texts are a Category", async () => {
  expect(await typeOf(many((n) => `A long title, number ${n}`))).toBe("Text");
  expect(await typeOf(many((n) => `brand ${n % 25}`))).toBe("Category");
});

test("a few texts with | do not make a list", async () => {
  expect(await typeOf(many((n) => (n === 3 ? "Either|Or, a novel" : `Novel number ${n}`)))).toBe("Text");
});

test("a text longer than 1000 characters counts as missing", async () => {
  expect(await read("(repeat('x', 1000)), (repeat('x', 1001)), ('y')", "Text")).toEqual([
    "Text",
    ["x".repeat(1000), null, "y"],
  ]);
});

test.each<[string, FeatureType, unknown]>([
  ["(7.0::DOUBLE), (7.5)", "Category", ["Category", ["7", "7.5"]]],
  ["('nan'::DOUBLE), ('-inf'), (9007199254740991)", "Category", ["Category", [null, null, "9007199254740991"]]],
  ["(1700000000000), (1700000001000)", "Timestamp", ["Timestamp", [1_700_000_000, 1_700_000_001]]],
  ["(7.50::DECIMAL(5,2)), (10)", "Category", ["Category", ["7.5", "10"]]],
  ["('12'), ('twelve'), ('1_2')", "Numerical", ["Numerical", [12, null, null]]],
  ["(-9223372036854775808), (1700000000)", "Timestamp", ["Timestamp", [-(2 ** 63), 1_700_000_000]]],
  ["(1), (0), (2)", "Boolean", ["Boolean", [1, 0, null]]],
  ["('a|b')", "Text", ["Text", ["a|b"]]],
  ["('a|b')", "Category", ["Category", ["a|b"]]],
  ["('a')", "CategoryList", ["CategoryList", [["a"]]]],
  ["(['a'])", "Category", "left out"],
  ["('52,13'), ('somewhere')", "Location", ["Location", ["52,13", "somewhere"]]],
  ["({'lat': 1.5, 'lon': 2})", "Category", "left out"],
  ["(5)", "Location", "left out"],
  ["(true)", "Timestamp", "left out"],
])("%s declared as %s → %j", async (values, declared, expected) =>
  expect(await read(values, declared)).toEqual(expected),
);

test.each<[string, unknown]>([
  [`('["rock", "jazz"]'), ('["jazz"]'), ('[]')`, ["CategoryList", [["jazz", "rock"], ["jazz"], []]]],
  [
    `('[''Comedy'', ''Drama'']'), ('["R&B", ''it is'']')`,
    [
      "CategoryList",
      [
        ["Comedy", "Drama"],
        ["R&B", "it is"],
      ],
    ],
  ],
  [`('{rock,jazz}'), ('{"hard rock"}'), ('{}')`, ["CategoryList", [["jazz", "rock"], ["hard rock"], []]]],
  [
    "('rock, jazz'), ('jazz'), ('rock'), ('jazz, rock')",
    ["CategoryList", [["jazz", "rock"], ["jazz"], ["rock"], ["jazz", "rock"]]],
  ],
  ["('rock;jazz'), ('jazz'), ('rock'), ('jazz')", ["CategoryList", [["jazz", "rock"], ["jazz"], ["rock"], ["jazz"]]]],
  [
    "('Paris, France'), ('Lyon, France'), ('Paris, France')",
    ["Category", ["Paris, France", "Lyon, France", "Paris, France"]],
  ],
  ["('1,234.50'), ('2'), ('NaN')", ["Numerical", [1234.5, 2, null]]],
  ["('1.234,50'), ('2,5')", ["Numerical", [1234.5, 2.5]]],
  ["('$1,234.50'), ('-$0.99'), ('$5')", ["Numerical", [1234.5, -0.99, 5]]],
  ["('12,50 €'), ('1 234,00 €')", ["Numerical", [12.5, 1234]]],
  ["('USD 5'), ('USD 7.25')", ["Numerical", [5, 7.25]]],
  ["('12,50 EUR'), ('3')", ["Numerical", [12.5, 3]]],
  ["('1,234'), ('5,678')", ["Category", ["1,234", "5,678"]]], // thousands, or three decimals
])("%s is read as people mean it", async (values, expected) => expect(await read(values)).toEqual(expected));

test("what was guessed is said, with what is left of the column", async () => {
  expect(await noteOn("('1,5'), ('2,75')")).toBe("is read as numbers with a decimal comma");
  const numbers = `${many(String)}, ('about 7'), ('N/A')`;
  expect(await noteOn(numbers)).toBe(
    'is read as Numerical; 2 of 62 values cannot be read so and count as missing, such as "about 7"',
  );
  expect(await noteOn(`${many(String, 10)}, ('about 7')`)).toBe(""); // a tenth is no exception: a category
  expect(await noteOn(`('["a"]'), ('{b}')`)).toBe("is read as lists in brackets");
});

test.each<[string, FeatureType | undefined, string]>([
  [
    "('nan'::DOUBLE), ('inf'), (2)",
    undefined,
    'is read as Numerical; 2 of 3 values cannot be read so and count as missing, such as "inf"',
  ],
  ["('infinity'::DATE), ('2024-01-02')", undefined, "is read as Timestamp; 1 of 2 values cannot be read so"],
  ["('12'), ('twelve'), ('')", "Numerical", '1 of 2 values cannot be read so and count as missing, such as "twelve"'],
  ["(1), (0), (2)", "Boolean", 'is read as Boolean; 1 of 3 values cannot be read so and count as missing, such as "2"'],
  ["(repeat('x', 1001)), ('y')", "Text", "1 of 2 values have more than 1000 characters and count as missing"],
])("the values of %s that are not %s are counted", async (values, declared, expected) =>
  expect(await noteOn(values, declared)).toContain(expected),
);

const withBare = `${many((n) => `["tag ${n % 9}, old", "b"]`)}, ('rock')`;

test("a few values beside lists in brackets are counted, and brackets are never split at commas", async () => {
  expect(await noteOn(withBare)).toBe(
    'is read as lists in brackets; 1 of 61 values cannot be read so and count as missing, such as "rock"',
  );
  const bare = many((n) => (n % 4 === 0 ? "b" : n % 2 === 0 ? "a, b" : '["a, c", "b"]'));
  const [type, lists] = (await read(bare)) as [string, string[][]];
  expect(type).toBe("CategoryList");
  expect([...new Set(lists.flat())].sort()).toEqual(["a", "a, c", "b"]);
});

test.each<[string, unknown]>([
  [`('["caf\\u00e9", "say \\"x\\"", null, 9007199254740993]')`, ["9007199254740993", "café", 'say "x"']],
  ["('[''a'', None, nan, ''NA'']')", ["NA", "a"]],
  ["('{NULL,NA,a}')", ["NA", "a"]],
])("the elements of %s are %j", async (values, expected) =>
  expect(await read(values)).toEqual(["CategoryList", [expected]]),
);

test.each<[string, string]>([
  [`('{"a": 1, "b": "x"}'), ('{}')`, "its values are objects"],
  ["('{''a'': 1}')", "its values are objects"],
  [`('[{"title": "a", "id": 1}, {"name": "b"}]'), ('[{"title": "a"}]')`, "its lists contain objects"],
  ["('[{''title'': ''a, b''}]')", "its lists contain objects"],
  ["([{'a': 1}])", "cannot be an attribute"],
])("%s are no list: %s", async (values, expected) => {
  expect(await noteOn(values)).toContain(expected);
  expect(await read(values)).toBe("left out");
});

test.each<[string, (string[] | null)[]]>([
  [`('[{"name": "b, c", "id": 1}, {"name": "a"}]'), ('[]'), ('{"id": 2, "name": "d"}')`, [["a", "b, c"], [], ["d"]]],
  [`('[{''id'': 1, ''name'': ''it is''}, {''id'': 2, ''name'': "it''s"}]')`, [["it is", "it's"]]],
  [`([{'id': 1, 'name': 'b'}, {'id': 2, 'name': 'a'}]), ([])`, [["a", "b"], []]],
])("%s are the names of the objects", async (values, expected) => {
  expect(await read(values)).toEqual(["CategoryList", expected]);
  expect(await noteOn(values)).toContain("is read as the names of its objects");
});

test("an object with a name is its name", async () =>
  expect(await read("({'id': 1, 'name': 'b'}), (NULL)")).toEqual(["Category", ["b", null]]));

test("a dash is no value among numbers", async () =>
  expect(await read("('1.5'), ('-'), ('n/a'), ('?')")).toEqual(["Numerical", [1.5, null, null, null]]));

test("objects that are declared as lists are missing, and counted", async () => {
  const values = `('{"a": 1, "b": 2}'), ('a|b')`;
  expect(await read(values, "CategoryList")).toEqual(["CategoryList", [null, ["a", "b"]]]);
  expect(await noteOn(values, "CategoryList")).toContain("1 of 2 values cannot be read so");
});

test("arrays of one length are read like lists", async () => {
  expect(await read("([2, 1]::INTEGER[2]), (NULL)")).toEqual(["CategoryList", [["1", "2"], null]]);
  expect(await noteOn("([[1], [2]]::INTEGER[1][2])")).toContain("lists contain lists");
  const vectors = many(String, 2).replaceAll(/'(\d+)'/g, "[$1.5, 2, 3, 4, 5, 6, 7, 8]::FLOAT[8]");
  expect(await read(vectors)).toEqual(["Vector", [0, 1].map((n) => [n + 0.5, 2, 3, 4, 5, 6, 7, 8])]);
});

test("only codes of currencies are currencies, and several in one column are said with their counts", async () => {
  expect(await typeOf("('ABC 5'), ('ABC 7')")).toBe("Category");
  expect(await noteOn("('USD 5'), ('7.25')")).toBe("is read as numbers with a decimal point (1 in USD)");
  expect(await noteOn("('$5'), ('€7.25'), ('3 EUR'), ('$6')")).toBe(
    "is read as numbers with a decimal point (2 in $, 1 in EUR, 1 in €), although they are of several currencies, which are not converted",
  );
});

test("numbers whose comma may be either stay text with a warning", async () => {
  expect(await noteOn("('1,234'), ('5,678')")).toBe(
    'stays text: its numbers, such as "1,234", have commas that may be decimal or not; convert them in the query',
  );
  expect(await typeOf("('1,234'), ('12'), ('1,234'), ('5')")).toBe("Category"); // no list of 1 and 234
});

test.each<[string, string, string]>([
  ["('31/12/2023 23:59'), ('01/02/2024 08:05')", "%d/%m/%Y %H:%M", "2023-12-31T23:59:00Z"],
  ["('Dec 31, 2023 11:59 PM'), ('May 5, 2024 12:00 AM')", "%b %d, %Y %I:%M %p", "2023-12-31T23:59:00Z"],
])("dates such as %s are read as %s", async (values, format, first) => {
  const [type, times] = (await read(values)) as [string, number[]];
  expect([type, times[0]]).toEqual(["Timestamp", Date.parse(first) / 1000]);
  expect(await noteOn(values)).toContain(`is read as ${format}, such as`);
});

test("dates whose day and month may be either stay text with both readings", async () => {
  const note = await noteOn("('03/01/2024'), ('04/02/2024')");
  expect(note).toContain('stays text. The times in "c", such as');
  expect(note).toContain("say which in the query with strptime(c, '%d/%m/%Y') or strptime(c, '%m/%d/%Y')");
  const most = `${many((n) => `2024-01-${10 + (n % 20)}`)}, ('soon')`;
  expect(await noteOn(most)).toBe(
    'is read as Timestamp; 1 of 61 values cannot be read so and count as missing, such as "soon"',
  );
});

test("lists of fractions of one length are vectors, as texts too", async () => {
  const vector = (n: number) => `[${Array.from({ length: 16 }, (_, i) => (n * 32 + i * 8) / 1024).join(", ")}]`;
  const note = "is read as vectors of 16 numbers, which only place new items in lists";
  const expected = ["Vector", Array.from({ length: 60 }, (_, n) => JSON.parse(vector(n)) as number[])];
  for (const values of [many(vector), many(vector).replaceAll("'", "")]) {
    expect(await noteOn(values)).toBe(note);
    expect(await read(values)).toEqual(expected);
  }
  expect(await noteOn("([1, 2, 3, 4, 5, 6, 7, 8]), ([2, 3, 4, 5, 6, 7, 8, 9])")).toBe(""); // whole numbers are codes
});

test("declared vectors have the most frequent length; other lists are missing, and counted", async () => {
  const values = "([1, 2, 3]), ([4, 5, 6]), ([7, 8]), ([9, NULL, 9]), ([1, 'nan'::FLOAT, 2]), (NULL)";
  expect(await read(values, "Vector")).toEqual(["Vector", [[1, 2, 3], [4, 5, 6], null, null, null, null]]);
  expect(await noteOn(values, "Vector")).toContain("3 of 5 values cannot be read so and count as missing");
  expect(await read("('[1, 2]'), ('{3,4}'), ('none')", "Vector")).toEqual(["Vector", [[1, 2], [3, 4], null]]);
  expect(await read("(7)", "Vector")).toBe("left out");
});

test("lists of lists are left out with their reason, not kept as categories", async () => {
  for (const nested of ["([[1], [2, 3]])", `('[["a"], ["b"]]')`, `(['[1,2]', '[3]'])`])
    expect(await noteOn(nested)).toContain("lists contain lists");
});

test("elements that lists lose are counted", async () => {
  const long = "x".repeat(1001);
  expect(await noteOn(`(['a', '${long}', '', NULL]), (list_transform(range(205), n -> 'e' || n))`)).toBe(
    "is read as CategoryList; its lists lost 6 elements: those of more than 1000 characters, and all beyond 200 in one list",
  );
  expect(await noteOn("(['a', 'a', '']), (NULL)")).toBe("");
});
