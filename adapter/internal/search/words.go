package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText = 64 << 10 // bytes of a text that are read
	maxWord = 40       // bytes of a word; longer ones are data, such as an encoded picture
)

// words returns the words of a text. It splits camel and snake case. In scripts without spaces between words, it
// returns the English translations of Chinese words, and then each pair of adjacent letters as a word.
func words(text string) iter.Seq[string] {
	return func(yield func(word string) bool) {
		for text := text[:min(len(text), maxText)]; text != ""; {
			r, size := utf8.DecodeRuneInString(text)
			more := true
			switch {
			case unbroken(r):
				size = length(text, func(_, r, _ rune) bool { return unbroken(r) })
				more = translate(text[:size], yield) && letterPairs(text[:size], yield)
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				size = length(text, sameWord)
				more = yield(text[:size])
			}
			if !more {
				return
			}
			text = text[size:]
		}
	}
}

// length returns the number of bytes of the first runes of a text that belong together, each to the one before it.
func length(text string, together func(before, r, after rune) bool) int {
	before, n := utf8.DecodeRuneInString(text)
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		after, _ := utf8.DecodeRuneInString(text[n+size:])
		if !together(before, r, after) {
			break
		}
		before, n = r, n+size
	}
	return n
}

// letterPairs yields each pair of adjacent letters, or the only letter.
func letterPairs(text string, yield func(word string) bool) bool {
	_, first := utf8.DecodeRuneInString(text)
	if first == len(text) {
		return yield(text)
	}
	for first < len(text) {
		_, second := utf8.DecodeRuneInString(text[first:])
		if !yield(text[:first+second]) {
			return false
		}
		text, first = text[first:], second
	}
	return true
}

// stems caches the stems of words as they are written, "" for words that are ignored.
type stems map[string]string

func (s stems) of(word string) string {
	known, ok := s[word]
	if !ok {
		if w := strings.ToLower(word); len(w) <= maxWord && !stopWords[w] {
			known = stem(w)
		}
		s[word] = known
	}
	return known
}

// in returns the stems of the first words of a text, at most limit of them.
func (s stems) in(text string, limit int) iter.Seq[string] {
	return func(yield func(stem string) bool) {
		n := 0
		for word := range words(text) {
			if stem := s.of(word); stem != "" {
				if n++; n > limit || !yield(stem) {
					return
				}
			}
		}
	}
}

// unbroken reports whether r belongs to a script without spaces between words.
func unbroken(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// sameWord reports whether a rune continues the word of the one before it. readFile and HTTPServer
// are two words each, and pdf2text is three.
func sameWord(before, r, after rune) bool {
	switch {
	case unbroken(r), !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return false
	case unicode.IsDigit(r) != unicode.IsDigit(before):
		return false
	case unicode.IsUpper(r) && !unicode.IsUpper(before):
		return false
	case unicode.IsUpper(r) && unicode.IsLower(after) && unicode.IsUpper(before):
		return false
	}
	return true
}

// stopWords say nothing about what a tool does. Some are the ends of short forms, such as "I'm".
var stopWords = set(`a about again all also am an and any are as at be because been being both but by can could d did didn do
	does doesn don each for from had has have he hello her here hey hi him his how i if in into is isn it its just let ll m may
	me more most must my no not of on only or other our out re s she should so some such t than that the their them then there
	these they this those to too up us use used uses using ve very via was we were what when where which while who will with
	would you your tool tools please`)

// vagueWords are the stems of words that are frequent in requests, but say little about the tool.
var vagueWords = func() map[string]bool {
	out := map[string]bool{}
	for w := range set(`additionally com curious current details example following given great help https info information
		interested interesting latest like main need now one perform provide really recent report required specific various
		want within wonder work`) {
		out[stem(w)] = true
	}
	return out
}()

// wholeWords are not what their stems would be: "news" is not "new", nor is "care" "car".
var wholeWords = set(`news station statement state rating training parking building author factor department apartment letter
	sector career care plane wine tape mission united better center computer container corner customer direction flower former
	identifier mention portion poster question section server shoulder shower summer tailor ticker trailer transition version`)

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// stem removes common endings from an English word. It removes less than Porter's algorithm, so
// that words with different meanings stay different.
func stem(w string) string {
	if len(w) < 4 || w[0] > unicode.MaxASCII {
		return w
	}
	if one := strings.TrimSuffix(w, "s"); wholeWords[w] {
		return w
	} else if wholeWords[one] {
		return one
	}
	for _, e := range endings {
		if base, ok := strings.CutSuffix(w, e.from); ok && len(base) >= e.least && hasVowel(base) {
			w = base + e.to
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] { // running → run, cancelling → cancel, but not filling → fil
		if !strings.ContainsRune("aeilosz", rune(w[n-1])) || w[n-1] == 'l' && n > 5 {
			w = w[:n-1]
		}
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	if n := len(w); n > 2 && w[n-1] == 'y' {
		w = w[:n-1] + "i"
	}
	return w
}

var endings = []struct {
	from, to string
	least    int
}{
	{"ifications", "ify", 1}, {"ification", "ify", 1}, {"abilities", "able", 2}, {"ability", "able", 2},
	{"ibilities", "ible", 2}, {"ibility", "ible", 2},
	{"izations", "iz", 3}, {"ization", "iz", 3}, {"ations", "at", 3}, {"ation", "at", 3},
	{"ings", "", 3}, {"ing", "", 3}, {"iest", "i", 2}, {"ies", "i", 2}, {"ied", "i", 2},
	{"sses", "ss", 2}, {"xes", "x", 2}, {"ches", "ch", 2}, {"shes", "sh", 2}, {"ions", "", 4}, {"ion", "", 4},
	{"ors", "", 4}, {"ers", "", 4}, {"or", "", 4}, {"er", "", 4}, {"edly", "", 3}, {"ed", "", 3}, {"ly", "", 4},
	{"ments", "", 4}, {"ment", "", 4}, {"ss", "ss", 1}, {"us", "us", 1}, {"is", "is", 1}, {"s", "", 3},
}

func hasVowel(s string) bool { return strings.ContainsAny(s, "aeiouy") }
