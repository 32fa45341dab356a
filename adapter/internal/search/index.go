package search

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
)

// Index is an index of documents. It may be used concurrently.
type Index struct {
	terms   map[string]uint32
	sorted  []string    // the terms, in order
	docs    [][]posting // by term
	text    []place     // the words of all names, titles and descriptions
	starts  []int       // of the documents in text
	lengths [][fields]uint16
	average [fields]float64
}

// posting counts a word in the fields of a document.
type posting struct {
	doc   int32
	count [fields]uint8
}

// place is one word of a field.
type place struct {
	term  uint32
	field uint8
}

// New indexes documents.
func New(docs []Doc) *Index {
	x := &Index{terms: map[string]uint32{}, lengths: make([][fields]uint16, len(docs))}
	known := stems{}
	for i := range docs {
		d := &docs[i]
		x.starts = append(x.starts, len(x.text))
		for f, text := range [fields]string{d.Name, d.Title, d.Description, d.Params, d.Server} {
			for stem := range known.in(text, maxWords) {
				x.add(stem, i, f)
			}
		}
	}
	x.starts = append(x.starts, len(x.text))
	x.sorted = slices.Sorted(maps.Keys(x.terms))
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
	id, ok := x.terms[stem]
	if !ok {
		id = uint32(len(x.terms))
		x.terms[stem] = id
		x.docs = append(x.docs, nil)
	}
	list := x.docs[id]
	if n := len(list); n == 0 || list[n-1].doc != int32(doc) {
		list = append(list, posting{doc: int32(doc)})
		x.docs[id] = list
	}
	if count := &list[len(list)-1].count[field]; *count < math.MaxUint8 {
		*count++
	}
	if field < inText {
		x.text = append(x.text, place{id, uint8(field)})
	}
}

// textOf returns the words of a document's name, title and description.
func (x *Index) textOf(doc int) []place { return x.text[x.starts[doc]:x.starts[doc+1]] }

func (x *Index) has(stem string) bool {
	_, ok := x.terms[stem]
	return ok
}

// rarity returns the inverse document frequency of a term.
func (x *Index) rarity(term uint32) float64 {
	n, has := float64(len(x.lengths)), float64(len(x.docs[term]))
	return math.Log(1 + (n-has+0.5)/(has+0.5))
}

// weighted returns the number of times that a document has a word, by the weights and the lengths of its fields.
func (x *Index) weighted(p *posting) (count float64) {
	for f, n := range p.count {
		if n > 0 {
			length := float64(x.lengths[p.doc][f]) / x.average[f]
			count += weights[f] * float64(n) / (1 - shortness[f] + shortness[f]*length)
		}
	}
	return count
}

// prefixed returns the terms that begin with an English stem, and the beginnings of the stem:
// "calculator" and "calculate" have the same beginning.
func (x *Index) prefixed(stem string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(stem) < minPrefix || stem[0] < 'a' || stem[0] > 'z' {
			return
		}
		for n := max(minPrefix, len(stem)-maxEnding); n < len(stem); n++ {
			if !yield(stem[:n]) {
				return
			}
		}
		first, _ := slices.BinarySearch(x.sorted, stem)
		for _, longer := range x.sorted[first:] {
			if !strings.HasPrefix(longer, stem) {
				return
			}
			if n := len(longer) - len(stem); n > 0 && n <= maxEnding && !yield(longer) {
				return
			}
		}
	}
}
