// Text to tokens, as textlds.corpus.tokens does it: the rules are in the module docstring of tokenizer.py, and the
// names here are those of scanning.py and token_kernel.py. Works on code points instead of bytes.

const SPACE = 1, LOWER = 2, UPPER = 3, LETTER = 4, DIGIT = 5, MARK = 6, JOINER = 7, IGNORED = 8;
const IDEOGRAPH = 9, PERIOD = 10, HYPHEN = 11, APOSTROPHE = 12, COMMA = 13, INNER = 14, TERMINAL = 15;
const WIDE_TERMINAL = 16, CLOSER = 17, QUOTE = 18, MODIFIER = 19, REGIONAL = 20, NEWLINE = 21, SYMBOL = 0;
const code = (character) => character.codePointAt(0);
const N = code("n"), T = code("t"), S = code("s"), D = code("d"), M = code("m"), R = code("r"), V = code("v");
const E = code("e"), L = code("l"), QUOTE_MARK = code("'"), RUNS = new Set([..."..-'`"].map(code));
const PADDING = 8; // zeros to look ahead into

export class Tokenizer {
  constructor(facts, index, blocks) {
    this.facts = facts;
    this.settings = facts.text;
    this.listed = new Set(facts.abbreviations);
    this.index = index;
    this.blocks = blocks;
    this.lowerSuffixes = suffixTable(facts.suffixes);
    this.capitalSuffixes = suffixTable(facts.capital_suffixes);
  }

  /** The class of a code point. */
  kindOf(point) {
    return this.blocks[(this.index[point >> 7] << 7) | (point & 127)];
  }

  /** Return the tokens of a text: {start, end} in code points, the text of each, and where boundaries stand. */
  tokenize(text) {
    const points = [];
    for (const character of text) {
      const point = character.codePointAt(0);
      points.push(point >= 0xd800 && point <= 0xdfff ? 63 : point); // a lone surrogate is "?" in Python's UTF-8
    }
    const count = points.length;
    points.push(10, 10); // every text ends its line, and a document is over after a blank one
    this.codes = new Uint32Array(points.length + PADDING);
    this.codes.set(points);
    this.kinds = new Uint8Array(this.codes.length);
    for (let i = 0; i < this.kinds.length; i++) this.kinds[i] = this.kindOf(this.codes[i]);
    return { ...this.scan(points.length), codes: this.codes, count };
  }

  scan(n) {
    const { kinds } = this;
    const words = this.settings.tokenizer === "words";
    const { boundaries } = this.settings;
    const tokens = [];
    let i = 0, onLine = 0, lastEnd = -1, lastIsWord = false, ending = 0, boundary = false;
    while (i < n) {
      const kind = kinds[i];
      if (kind === SPACE || (words && (kind === IGNORED || kind === JOINER))) { i++; continue; }
      if (kind === NEWLINE) {
        if (onLine > 0 ? boundaries === "line" || boundaries === "sentence" : boundaries === "document") boundary = true;
        onLine = 0;
        ending = 0;
        i++;
        continue;
      }
      let end, isWord;
      if (words) {
        [end, isWord] = this.tokenEnd(i, kind, lastIsWord && lastEnd === i);
      } else {
        end = i;
        while (kinds[end] !== SPACE && kinds[end] !== NEWLINE) end++;
        isWord = (kind >= LOWER && kind <= IDEOGRAPH) || !this.isUniform(i, end, kind);
      }
      if (boundaries === "sentence") {
        const glued = lastEnd === i;
        if (ending === 1 && !glued) ending = 2;
        if (ending > 0 && (isWord || !this.closesSentence(i, end, kind, glued))) {
          if (ending === 2 && kind !== LOWER) boundary = true;
          ending = 0;
        }
        if (!isWord) {
          if (kind === WIDE_TERMINAL) ending = 2;
          else if (kind === PERIOD || kind === TERMINAL) ending = Math.max(ending, 1);
        }
      }
      tokens.push({ start: i, end, boundary: boundary && tokens.length > 0 });
      boundary = false;
      onLine++;
      lastEnd = end;
      lastIsWord = isWord;
      i = end;
    }
    return { tokens };
  }

  isUniform(start, end, kind) {
    for (let i = start; i < end; i++) if (this.kinds[i] !== kind) return false;
    return true;
  }

  closesSentence(start, end, kind, glued) {
    if (kind === CLOSER || kind === PERIOD || kind === TERMINAL || kind === WIDE_TERMINAL) return true;
    if (kind === APOSTROPHE && end - start === 2 && this.codes[start + 1] === QUOTE_MARK) return true;
    return glued && (kind === QUOTE || kind === APOSTROPHE);
  }

  tokenEnd(start, kind, afterWord) {
    if (kind >= LOWER && kind <= MARK) return [this.wordEnd(start), true];
    if (kind === APOSTROPHE) {
      const end = this.cliticEnd(start);
      if (end > 0 && (afterWord || this.kinds[end] !== APOSTROPHE)) return [end, true];
    }
    return [this.symbolEnd(start), kind === IDEOGRAPH];
  }

  continues(i) {
    const kind = this.kinds[i];
    if (kind === HYPHEN) return beginsWord(this.kinds[i + 1]);
    return kind >= LOWER && kind <= IGNORED;
  }

  cliticEnd(i) {
    if (this.kinds[i] !== APOSTROPHE) return 0;
    i++;
    const first = this.codes[i] | 32, second = this.codes[i + 1] | 32;
    if (((first === R || first === V) && second === E) || (first === L && second === L)) i += 2;
    else if (first === S || first === D || first === M) i += 1;
    else return 0;
    return this.continues(i) ? 0 : i;
  }

  isListed(start, end) {
    if (end - start > 6) return false;
    return this.listed.has(String.fromCodePoint(...this.codes.subarray(start, end)));
  }

  wordEnd(start) {
    const { kinds, codes } = this;
    let i = start, part = start, last = -1, before = -1, letters = 0, periods = 0, dotted = true;
    for (;;) {
      let kind = kinds[i];
      if (kind >= LOWER && kind <= IGNORED) {
        if (kind <= DIGIT) {
          last = kind;
          letters++;
          if (kind === DIGIT || letters > 2) dotted = false;
        } else if (i === start) dotted = false;
        before = kind;
        i++;
        continue;
      }
      let next = kinds[i + 1];
      if (kind === PERIOD) {
        if (isLetter(last) && isLetter(next)) {
          if (!(before === LOWER && next === UPPER && kinds[i + 2] === LOWER)) {
            periods++;
            letters = 0;
            before = PERIOD;
            i++;
            continue;
          }
        } else if (last === DIGIT && next === DIGIT) {
          dotted = false;
          i++;
          continue;
        }
        if (next === PERIOD) return i;
        const initial = dotted && periods === 0 && letters === 1 && last === UPPER;
        if (!((dotted && periods > 0) || initial || this.isListed(part, i))) return i;
        i++;
        kind = next;
        if (kind !== HYPHEN) return i;
        next = kinds[i + 1];
      }
      if (kind === HYPHEN && beginsWord(next)) {
        i++;
        part = i;
        letters = periods = 0;
        dotted = true;
        continue;
      }
      if (kind === APOSTROPHE && beginsWord(next)) {
        if (this.cliticEnd(i) > 0) return i;
        if (i - 1 > part && (codes[i - 1] | 32) === N && (codes[i + 1] | 32) === T && !this.continues(i + 2)) {
          return i - 1;
        }
      } else if (!((kind === COMMA && last === DIGIT && next === DIGIT)
                   || (kind === INNER && isLetter(last) && isLetter(next)))) {
        return i;
      }
      dotted = false;
      before = kind;
      i++;
    }
  }

  symbolEnd(start) {
    const { kinds, codes } = this;
    let i = start + 1;
    if (RUNS.has(codes[start])) while (codes[i] === codes[start]) i++;
    if (kinds[start] === REGIONAL && kinds[i] === REGIONAL) i++;
    let before = kinds[start];
    for (;;) {
      const kind = kinds[i];
      const glued = (kind >= MARK && kind <= IGNORED) || kind === MODIFIER || (before === JOINER && kind === SYMBOL);
      if (!glued) return i;
      before = kind;
      i++;
    }
  }

  /** Apply the digits setting to code points; leave out format characters if that is asked for. */
  normalise(codes, ignore) {
    const { digits } = this.settings;
    const out = [];
    let inNumber = false;
    for (const point of codes) {
      const kind = this.kindOf(point);
      if (ignore && kind === IGNORED) continue;
      if (kind === DIGIT && digits === "num") {
        if (!inNumber) out.push(78, 85, 77);
      } else out.push(kind === DIGIT && digits === "zero" ? 48 : point);
      inNumber = kind === DIGIT;
    }
    return String.fromCodePoint(...out);
  }

  /** The name of the class that stands for a normalised word outside the vocabulary. */
  shapeClass(word) {
    let lower = 0, upper = 0, uncased = 0, characters = 0, run = 0, first = -1;
    let hyphen = false, period = false, number = false;
    const points = [...word];
    points.forEach((character, i) => {
      const kind = this.kindOf(character.codePointAt(0));
      if (kind === UPPER) {
        upper++;
        run++;
      } else {
        number ||= run === 3 && points.slice(i - 3, i).join("") === "NUM";
        run = 0;
      }
      lower += kind === LOWER;
      uncased += kind === LETTER || kind === IDEOGRAPH;
      hyphen ||= kind === HYPHEN;
      period ||= kind === PERIOD;
      number ||= kind === DIGIT;
      if (first < 0 && kind >= LOWER && kind <= LETTER) first = kind;
      characters++;
    });
    if (number || (run === 3 && word.endsWith("NUM"))) return "<unk:digit>";
    if (lower + upper === 0) return uncased === 0 ? "<unk:symbol>" : "<unk>";
    if (period) return "<unk:dotted>";
    if (upper === 0) return hyphen ? "<unk:hyphen>" : bySuffix(word, characters, this.lowerSuffixes, "<unk:lower>");
    if (lower === 0 && upper > 1) return "<unk:ALLCAPS>";
    if (first === UPPER && hyphen) return "<unk:Capital-hyphen>";
    if (first === UPPER && upper === 1) return bySuffix(word, characters, this.capitalSuffixes, "<unk:Capital>");
    return "<unk:Mixed>";
  }
}

function beginsWord(kind) {
  return kind >= LOWER && kind <= DIGIT;
}

function isLetter(kind) {
  return kind >= LOWER && kind <= LETTER;
}

function suffixTable(groups) {
  const rows = Object.entries(groups).flatMap(([name, group]) => group.map((suffix) => [suffix, `<unk:${name}>`]));
  return rows.sort((a, b) => b[0].length - a[0].length);
}

function bySuffix(word, characters, table, otherwise) {
  for (const [suffix, name] of table) {
    if (suffix.length + 2 <= characters && word.endsWith(suffix)) return name;
  }
  return otherwise;
}
