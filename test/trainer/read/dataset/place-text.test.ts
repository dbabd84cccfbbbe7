import fc from "fast-check";
import { expect, test } from "vitest";
import { placeIn } from "../../../../trainer/read/dataset/place-text.ts";

/** A point as PostGIS writes it (EWKB). */
function wkb({ lat, lon }: { lat: number; lon: number }, { srid = 4326, isLittle = true, type = 1 } = {}): string {
  const bytes = new DataView(new ArrayBuffer(25));
  bytes.setUint8(0, isLittle ? 1 : 0);
  bytes.setUint32(1, type | 0x20000000, isLittle);
  bytes.setUint32(5, srid, isLittle);
  bytes.setFloat64(9, lon, isLittle);
  bytes.setFloat64(17, lat, isLittle);
  return Buffer.from(bytes.buffer).toString("hex").toUpperCase();
}

const place = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }).map((value) => value + 0),
  lon: fc.double({ min: -180, max: 180, noNaN: true }).map((value) => value + 0),
});

test("every form gives the place back", () =>
  fc.assert(
    fc.property(place, ({ lat, lon }) => {
      const forms = [
        `${lat},${lon}`,
        `  ${lat} , ${lon} `,
        `POINT(${lon} ${lat})`,
        `SRID=4326;POINT(${lon} ${lat})`,
        `point z ( ${lon}  ${lat} 17 )`,
        JSON.stringify({ lat, lon }),
        JSON.stringify({ Longitude: String(lon), Latitude: String(lat), id: 7 }),
        JSON.stringify({ type: "Point", coordinates: [lon, lat] }),
        JSON.stringify({ type: "Point", coordinates: [lon, lat, 30] }),
        wkb({ lat, lon }),
        wkb({ lat, lon }, { isLittle: false }),
        wkb({ lat, lon }, { srid: 0 }),
      ];
      for (const form of forms) expect([form, placeIn(form)]).toEqual([form, { lat, lon }]);
    }),
  ));

test.each([
  "",
  "Berlin",
  "52.5",
  "52.5;13.4",
  "91,0",
  "0,181",
  "POINT EMPTY",
  "POINT(1)",
  "POLYGON((0 0, 1 1, 1 0, 0 0))",
  "LINESTRING(0 0, 1 1)",
  "SRID=3857;POINT(1 2)",
  "{",
  "{}",
  '{"lat": 1}',
  '{"lat": null, "lon": 2}',
  '{"lat": "", "lon": 2}',
  '{"lat": [1], "lon": 2}',
  '{"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}',
  '{"type": "Point", "coordinates": []}',
  wkb({ lat: 1, lon: 2 }, { srid: 3857 }),
  wkb({ lat: 1, lon: 2 }, { type: 3 }),
  wkb({ lat: 100, lon: 2 }),
  wkb({ lat: Number.NaN, lon: Number.NaN }),
  wkb({ lat: 1, lon: 2 }).slice(0, 44),
])("%s is no place", (text) => expect(placeIn(text)).toBeUndefined());
