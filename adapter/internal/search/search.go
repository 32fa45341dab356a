// Package search finds tools by words that say what they are for.
//
// It ranks by BM25 over fields, as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond". Equal scores keep the order of the docs, so that the same query finds the same tools.
package search

import (
	"cmp"
	"math"
	"slices"
)

// Doc is what is known of a tool. Of each text the first 400 words count.
type Doc struct {
	Name, Title, Description string
	Params                   string // names and descriptions of its parameters
	Server                   string // the server's label, and the groups of the tool
}

const (
	maxWords   = 400 // of a field
	maxQuery   = 64  // words
	fields     = 5
	saturation = 1.2 // of BM25: how much a repeated word counts
	shortness  = 0.3 // of BM25: how much a short text counts
)

// weights are how much a word counts in the fields of a doc, in their order.
var weights = [fields]float64{5, 2, 1, 0.3, 0.5}

// Index is an index of docs. It may be used concurrently.
type Index struct {
	terms   map[string][]posting
	lengths [][fields]uint16
	average [fields]float64
}

// posting is how often a doc has a word.
type posting struct {
	doc   int32
	count [fields]uint8
}

// New makes an index of the docs.
func New(docs []Doc) *Index {
	x := &Index{terms: map[string][]posting{}, lengths: make([][fields]uint16, len(docs))}
	known := stems{}
	for i := range docs {
		d := &docs[i]
		for f, text := range [fields]string{d.Name, d.Title, d.Description, d.Params, d.Server} {
			words(text, maxWords, known, func(stem string) { x.add(stem, i, f) })
		}
	}
	for f := range x.average {
		for i := range x.lengths {
			x.average[f] += float64(x.lengths[i][f])
		}
		x.average[f] = max(1, x.average[f]/float64(max(1, len(docs))))
	}
	return x
}

func (x *Index) add(stem string, doc, field int) {
	x.lengths[doc][field]++
	list := x.terms[stem]
	if n := len(list); n == 0 || list[n-1].doc != int32(doc) {
		list = append(list, posting{doc: int32(doc)})
		x.terms[stem] = list
	}
	if count := &list[len(list)-1].count[field]; *count < math.MaxUint8 {
		*count++
	}
}

// Search returns the docs that have words of the query, the best first: at most limit. Of the query the first 64 words
// count. A word that no doc has is taken for a known one that differs by one letter.
func (x *Index) Search(query string, limit int) []int {
	scores := make([]float64, len(x.lengths))
	var found []int
	for _, stem := range x.known(query) {
		list := x.terms[stem]
		n, has := float64(len(x.lengths)), float64(len(list))
		rarity := math.Log(1 + (n-has+0.5)/(has+0.5))
		for i := range list {
			p := &list[i]
			if scores[p.doc] == 0 {
				found = append(found, int(p.doc))
			}
			count := x.weighted(p)
			scores[p.doc] += rarity * count / (saturation + count)
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return found[:min(max(limit, 0), len(found))]
}

// known are the words of a query that some docs have, each once.
func (x *Index) known(query string) (found []string) {
	words(query, maxQuery, stems{}, func(stem string) {
		if x.terms[stem] == nil {
			stem = x.near(stem)
		}
		if stem != "" && !slices.Contains(found, stem) {
			found = append(found, stem)
		}
	})
	return found
}

// weighted is how often a doc has a word, by the weights of its fields and their lengths.
func (x *Index) weighted(p *posting) (count float64) {
	for f, n := range p.count {
		if n > 0 {
			length := float64(x.lengths[p.doc][f]) / x.average[f]
			count += weights[f] * float64(n) / (1 - shortness + shortness*length)
		}
	}
	return count
}

// near is the known word that differs from a mistyped one by one letter, "" for none. Of several it is the one that most
// docs have.
func (x *Index) near(word string) (best string) {
	if len(word) < 5 {
		return ""
	}
	most := 0
	for known, list := range x.terms {
		if d := len(known) - len(word); d < -1 || d > 1 || known[0] != word[0] || !oneOff(known, word) {
			continue
		}
		if n := len(list); n > most || n == most && known < best {
			best, most = known, n
		}
	}
	return best
}

// oneOff reports whether words differ by one letter that is missing, or another one, or by two that are swapped.
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
