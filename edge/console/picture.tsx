import { type Attributes, imageOf } from "./known-items.ts";

/** The item's picture, if an attribute has the address of one. The title beside it says what it shows. */
export function Picture({ attributes, size }: { attributes: Attributes; size: number }) {
  const image = imageOf(attributes);
  if (image === undefined) return null;
  return (
    <img class="picture" src={image} alt="" width={size} height={size} loading="lazy" referrerpolicy="no-referrer" />
  );
}
