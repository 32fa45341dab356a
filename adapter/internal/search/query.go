package search

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
)

// term is a word that documents are scored by.
type term struct {
	stem  string
	share float64 // how much it counts
}

// query is a query that is being read.
type query struct {
	index   *Index
	known   stems
	outside map[string]bool // words that are not only in values

	distinct []askedStem // the stems of the words, each once
	joined   []string    // stems of two words that documents write as one, such as "login" for "log in"
	implied  []string    // words
}

type askedStem struct {
	term
	count float64 // how often the query has it
}

// read returns the stems of a query in order, with typing mistakes corrected, and the terms to score.
func (x *Index) read(text string) (asked []string, terms []term) {
	text = text[:min(len(text), maxQuery*maxWord)]
	q := &query{index: x, known: stems{}, outside: outsideValues(text)}
	before := ""
	for word := range words(text) {
		q.addPair(before, word)
		before = word
		if stem := q.addWord(word); stem != "" {
			asked = append(asked, stem)
		}
		if len(asked) == maxQuery {
			break
		}
	}
	for token := range strings.FieldsSeq(text) {
		q.implied = append(q.implied, kindOf(token))
	}
	return asked, q.terms()
}

// addPair adds what two adjacent words mean together. before is "" for the first word.
func (q *query) addPair(before, word string) {
	if before == "" {
		return
	}
	q.implied = append(q.implied, hints[pairOf(before, word)])
	if joint := q.known.of(before + word); len(before)+len(word) >= minJoined && q.index.has(joint) {
		q.joined = append(q.joined, joint)
	}
}

// addWord adds a word, and returns its stem, "" for a word that does not count.
func (q *query) addWord(word string) (stem string) {
	q.implied = append(q.implied, hints[strings.ToLower(word)])
	stem = q.known.of(word)
	if stem == "" {
		return ""
	}
	if !q.index.has(stem) {
		stem = cmp.Or(q.index.near(stem), stem)
	}
	i := slices.IndexFunc(q.distinct, func(s askedStem) bool { return s.stem == stem })
	if i < 0 {
		i = len(q.distinct)
		q.distinct = append(q.distinct, askedStem{term: term{stem: stem}})
	}
	a := &q.distinct[i]
	a.share = max(a.share, shareOf(stem, q.outside[word]))
	a.count++
	return stem
}

// terms returns the stems of the words, then the joined ones, and then those of the implied words, each once.
func (q *query) terms() (all []term) {
	add := func(stem string, share float64) {
		if stem != "" && !slices.ContainsFunc(all, func(t term) bool { return t.stem == stem }) {
			all = append(all, term{stem, share})
		}
	}
	for _, s := range q.distinct {
		add(s.stem, s.share*(1+repeatWeight*math.Log(s.count)))
	}
	for _, stem := range q.joined {
		add(stem, joinedWeight)
	}
	for _, word := range q.implied {
		add(q.known.of(word), hintWeight)
	}
	return all
}

// outsideValues returns the words of a query that are not only in values.
func outsideValues(query string) map[string]bool {
	out := map[string]bool{}
	for token := range strings.FieldsSeq(quoted.ReplaceAllString(query, " ")) {
		if kindOf(token) == "" {
			for word := range words(token) {
				out[word] = true
			}
		}
	}
	return out
}

// shareOf returns how much a word of a query counts.
func shareOf(stem string, outside bool) float64 {
	switch {
	case !outside || vagueWords[stem]:
		return vagueWeight
	case isNumber(stem):
		return numberWeight
	}
	return 1
}

func isNumber(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// quoted matches texts in quotes. They are values, as addresses and dates are: arguments of the call
// rather than words about the tool.
var quoted = regexp.MustCompile(`"[^"]+"|“[^”]+”|(?:^|[\s(])'[^']+'(?:$|[\s.,?!;)])`)

// kindOf returns what a token of a query is if it is a value, or "".
func kindOf(token string) string {
	token = strings.TrimRight(strings.TrimLeft(token, `"'“‘([<`), `"'”’)]>.,;:!?`)
	name, domain, at := strings.Cut(token, "@")
	switch {
	case strings.Contains(token, "://"), strings.HasPrefix(token, "www."):
		return "url"
	case at && name != "" && strings.Contains(domain, "."):
		return "email"
	case isNumber(token) && strings.Contains(token, ":"):
		return "time"
	case isNumber(token) && strings.Count(token, "-")+strings.Count(token, "/") == 2:
		return "date"
	case extensions[strings.ToLower(path.Ext(token))],
		strings.HasPrefix(token, "./"), strings.Count(token, "/")+strings.Count(token, `\`) > 1:
		return "file"
	}
	return ""
}

var extensions = set(`.txt .csv .tsv .json .xml .yml .yaml .pdf .doc .docx .xls .xlsx .ppt .pptx .md .htm .html .py .js .ts .go .java .c .cpp
	.sh .png .jpg .jpeg .gif .svg .mp3 .mp4 .wav .zip .log .sql .db .bib .tex .ini .cfg .conf .toml`)

// pairOf returns the key of two words in hints.
func pairOf(first, second string) string {
	if isNumber(first) {
		first = "0"
	}
	return strings.ToLower(first + " " + second)
}

// hints maps one or two words of a query to a word that they imply: "how far" asks for a distance. "0" is any number.
var hints = func() map[string]string {
	out := map[string]string{"born": "birthday", "how old": "age", "0 am": "time", "0 pm": "time"}
	for _, h := range []struct{ before, words, implied string }{
		{"how ", "far tall high wide", "distance"},
		{"how ", "long fast quickly", "duration"},
		{"", "january february march april june july august september october november december", "date"},
		{"", "monday tuesday wednesday thursday friday saturday sunday tomorrow yesterday", "date"},
		{"in ", "chinese french german italian japanese korean portuguese russian spanish", "translate"},
		{"to ", "chinese english french german italian japanese korean portuguese russian spanish", "translate"},
		{"into ", "chinese english french german italian japanese korean portuguese russian spanish", "translate"},
	} {
		for word := range strings.FieldsSeq(h.words) {
			out[h.before+word] = h.implied
		}
	}
	return out
}()

// near returns the term that differs from a mistyped word by one letter, the most frequent of several, or "".
func (x *Index) near(word string) (best string) {
	if len(word) < 5 {
		return ""
	}
	most := 0
	for known, id := range x.terms {
		if d := len(known) - len(word); d < -1 || d > 1 || known[0] != word[0] || !oneOff(known, word) {
			continue
		}
		if n := len(x.docs[id]); n > most || n == most && known < best {
			best, most = known, n
		}
	}
	return best
}

// oneOff reports whether two words differ by one missing or changed letter, or by two adjacent
// letters that are swapped.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a) || a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
