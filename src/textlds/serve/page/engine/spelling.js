// The features of a word's spelling, hashed to buckets: textlds.lexicon.features in JavaScript.

const ALL = 0, RUN = 1, CAPITALS = 2, ENDING = 3, MARK = 4;
const MASK64 = (1n << 64n) - 1n;
const PRIME = 0x100000001b3n;

/** Return the buckets of the features of a word whose digits are normalised; buckets is a power of two. */
export function spellingFeatures(word, buckets) {
  const lower = word.toLowerCase();
  const length = [...word].length;
  const capitals = word === lower ? 0 : length > 1 && isUpper(word) ? 1 : /^\p{Uppercase}/u.test(word) ? 2 : 3;
  let points = [...lower].map((character) => character.codePointAt(0));
  if (points.length > 64) points = [...points.slice(0, 32), ...points.slice(-32)];
  points = [2, ...points, 3];
  const mask = BigInt(buckets - 1);
  const found = [bucket(ALL, 0, [], mask), bucket(CAPITALS, capitals, [], mask)];
  for (let size = 2; size <= 5; size++) {
    for (let first = 0; first + size <= points.length; first++) {
      found.push(bucket(RUN, 0, points.slice(first, first + size), mask));
    }
  }
  const last = points.length - 1; // without the mark of the end
  for (let size = 1; size <= Math.min(4, points.length - 3); size++) {
    found.push(bucket(ENDING, capitals, points.slice(last - size, last), mask));
  }
  ["NUM", "-", "."].forEach((mark, k) => {
    if (word.includes(mark)) found.push(bucket(MARK, k, [], mask));
  });
  return found;
}

function isUpper(word) {
  return /\p{Uppercase}/u.test(word) && !/[\p{Lowercase}\p{Lt}]/u.test(word);
}

/** FNV-1a over what a feature is made of, and a final mixing, in 64 bits. */
function bucket(kind, detail, points, mask) {
  let value = ((0xcbf29ce484222325n ^ BigInt(8 * kind + detail)) * PRIME) & MASK64;
  for (const point of points) value = ((value ^ BigInt(point)) * PRIME) & MASK64;
  value ^= value >> 29n;
  value = (value * 0xbf58476d1ce4e5b9n) & MASK64;
  value ^= value >> 32n;
  return Number(value & mask);
}
