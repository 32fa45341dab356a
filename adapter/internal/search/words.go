package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText = 64 << 10 // bytes of a text that are read
	maxWord = 40       // bytes of a word: longer ones are data, such as an encoded picture
)

// words calls yield with the stems of the words in a text, and stops after the most that are wanted. Camel and snake
// case are split; of scripts that put no blanks between words, each pair of letters is a word. known has the stems of words
// that came before.
func words(text string, most int, known stems, yield func(stem string)) {
	emit := func(w string) bool {
		if s := known.of(w); s != "" {
			most--
			yield(s)
		}
		return most > 0
	}
	text = text[:min(len(text), maxText)]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unbroken(r):
			j, pairs := i+size, 0
			for ; j < len(text); pairs++ {
				next, n := utf8.DecodeRuneInString(text[j:])
				if !unbroken(next) {
					break
				}
				if !emit(text[i : j+n]) {
					return
				}
				i, j = j, j+n
			}
			if pairs == 0 && !emit(text[i:j]) {
				return
			}
			i = j
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			j := i + size
			for before := r; j < len(text); {
				next, n := utf8.DecodeRuneInString(text[j:])
				after, _ := utf8.DecodeRuneInString(text[j+n:])
				if !sameWord(before, next, after) {
					break
				}
				before, j = next, j+n
			}
			if !emit(text[i:j]) {
				return
			}
			i = j
		default:
			i += size
		}
	}
}

// stems has the stems of words as they are written, "" for those that do not count.
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

// unbroken reports a letter of a script without blanks between words.
func unbroken(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// sameWord reports whether a rune continues the word of the one before it: readFile and HTTPServer are two words
// each, and so are pdf2text's three.
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

// stopWords say nothing of what a tool does.
var stopWords = set(`a about all also an and any are as at be been but by can do does each for from had has have how i if
	in into is it its let may me more most must my no not of on or other our out s so some such t than that the their
	them then there these they this those to up us use used uses using via was we were what when where which who will
	with would you your tool tools please`)

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// stem takes the usual endings off an English word. It is lighter than Porter's: words that mean different things
// stay apart.
func stem(w string) string {
	if len(w) < 4 || w[0] > unicode.MaxASCII {
		return w
	}
	for _, e := range endings {
		if base, ok := strings.CutSuffix(w, e.from); ok && len(base) >= e.least && hasVowel(base) {
			w = base + e.to
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeilosz", rune(w[n-1])) { // running → run
		w = w[:n-1]
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
	{"izations", "iz", 3}, {"ization", "iz", 3}, {"ations", "at", 3}, {"ation", "at", 3},
	{"ings", "", 3}, {"ing", "", 3}, {"iest", "i", 2}, {"ies", "i", 2}, {"ied", "i", 2},
	{"sses", "ss", 2}, {"xes", "x", 2}, {"ches", "ch", 2}, {"shes", "sh", 2}, {"ions", "", 4}, {"ion", "", 4},
	{"ors", "", 4}, {"ers", "", 4}, {"or", "", 4}, {"er", "", 4}, {"edly", "", 3}, {"ed", "", 3}, {"ly", "", 4},
	{"ments", "", 4}, {"ment", "", 4}, {"ss", "ss", 1}, {"us", "us", 1}, {"is", "is", 1}, {"s", "", 3},
}

func hasVowel(s string) bool { return strings.ContainsAny(s, "aeiouy") }
