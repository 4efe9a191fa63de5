// Arrays in the safetensors format: the length of a JSON header (8 bytes, little-endian), the header, the data.

const TYPES = {
  F32: Float32Array, F64: Float64Array, I8: Int8Array, U8: Uint8Array, U16: Uint16Array, I32: Int32Array,
  U32: Uint32Array,
};

/** Return the arrays of a file by name: {data, shape}. */
export function readArrays(buffer) {
  const view = new DataView(buffer);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const arrays = {};
  for (const [name, { dtype, shape, data_offsets: [start, stop] }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const Type = TYPES[dtype];
    if (!Type) throw new Error(`the array ${name} is of type ${dtype}, which this page cannot read`);
    const count = (stop - start) / Type.BYTES_PER_ELEMENT;
    if (count !== shape.reduce((a, b) => a * b, 1)) throw new Error(`the array ${name} does not have its shape`);
    const begin = 8 + length + start;
    // an array that is not aligned to its own numbers has to be copied
    const data = begin % Type.BYTES_PER_ELEMENT === 0
      ? new Type(buffer, begin, count) : new Type(buffer.slice(begin, begin + (stop - start)));
    arrays[name] = { data, shape };
  }
  return arrays;
}

/** A table of int8 rows with a scale each. */
export class Table {
  constructor(arrays, name) {
    this.data = arrays[name].data;
    [this.rows, this.width] = arrays[name].shape;
    this.scale = arrays[`${name}.scale`].data;
  }

  /** Write row i to out, from offset on. */
  row(i, out = new Float32Array(this.width), offset = 0) {
    const { data, width } = this;
    const scale = this.scale[i];
    for (let c = 0, at = i * width; c < width; c++, at++) out[offset + c] = scale * data[at];
    return out;
  }

  /** Return the whole table as float32. */
  all() {
    const out = new Float32Array(this.rows * this.width);
    for (let i = 0; i < this.rows; i++) this.row(i, out, i * this.width);
    return out;
  }
}
