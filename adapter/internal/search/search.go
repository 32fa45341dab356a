// Package search finds tools by words that describe their purpose.
//
// It ranks documents by BM25 over fields, see Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond". It also scores related words, adjacent words, and translations between Chinese and English. Documents with
// equal scores keep their order, so that the same query always finds the same tools.
package search

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
)

// Doc is the description of a tool. The first 400 words of each field are indexed.
type Doc struct {
	Name, Title, Description string
	Params                   string // names and descriptions of parameters
	Server                   string // the server's label and the tool's groups
}

// Bounds.
const (
	maxWords = 400 // of a field
	maxQuery = 64  // words
	maxPairs = 50  // best documents that are searched for adjacent words and names
)

// Fields of a document.
const (
	fields        = 5
	inName        = 0
	inDescription = 2
	inText        = 3 // the first fields, whose word order is kept: name, title and description
)

// Weights of a match, relative to the word of the query itself.
const (
	saturation    = 1.2 // k of BM25: how little a repeated word adds
	relatedWeight = 0.3 // a related word of the thesaurus
	synonymWeight = 0.7 // a word of the same meaning
	prefixWeight  = 0.6 // a word with the same beginning
	pairWeight    = 0.5 // two words that are adjacent in both query and document
	joinedWeight  = 0.7 // two words of the query that documents write as one
	hintWeight    = 0.8 // a word of hints
	vagueWeight   = 0.3 // a word of vagueWords, or of a value
	numberWeight  = 0.5 // a number
	repeatWeight  = 0.3 // added, times the logarithm of how often the query has a word
	nameWeight    = 0.2 // all words of a document's name

	unaskedWeight = 0.12 // deducted for a word of a document's name that the query does not have
	actionWeight  = 1    // deducted if a document is for another action than the query
)

// Words with the same beginning, and words written as one.
const (
	minPrefix = 4 // letters that both words have
	maxEnding = 5 // letters that only the longer one has
	minJoined = 5 // letters of two words together
)

var (
	// weights are the weights of the fields, in their order.
	weights = [fields]float64{3, 2, 1, 0.8, 2}

	// shortness is b of BM25: how much a short field is preferred. Many parameters hardly matter.
	shortness = [fields]float64{0.5, 0.5, 0.7, 0.15, 0.5}
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

// Search returns the indexes of at most limit documents that match the query, the best match first. It uses the first
// 64 words of the query. It replaces a word that no document has by one that differs by one letter.
func (x *Index) Search(query string, limit int) []int {
	asked, terms := x.read(query)
	r := ranking{index: x, asked: asked, scores: make([]float64, len(x.lengths)), word: make([]float64, len(x.lengths))}
	for _, t := range terms {
		r.add(t.stem, t.share)
	}
	r.sort(r.found)
	best := r.found[:min(maxPairs, len(r.found))]
	r.pairs(best)
	r.names(terms, best)
	r.actions(best)
	r.sort(best)
	return r.found[:min(max(limit, 0), len(r.found))]
}

// textOf returns the words of a document's name, title and description.
func (x *Index) textOf(doc int) []place { return x.text[x.starts[doc]:x.starts[doc+1]] }

func (x *Index) has(stem string) bool {
	_, ok := x.terms[stem]
	return ok
}

// ranking scores documents for one query.
type ranking struct {
	index  *Index
	asked  []string  // stems of the query
	scores []float64 // by document
	word   []float64 // score of the current word, by document
	has    []int32   // documents with the current word
	found  []int     // documents with any word
}

// add scores a word of the query in all documents. If a document has several related words, only the best one counts.
func (r *ranking) add(stem string, share float64) {
	most := r.count(stem, share, math.Inf(1))
	for other, weight := range related()[stem] {
		if !slices.Contains(r.asked, other) {
			r.count(other, share*weight, most)
		}
	}
	for other := range r.index.prefixed(stem) {
		if !slices.Contains(r.asked, other) {
			r.count(other, share*prefixWeight, most)
		}
	}
	for _, doc := range r.has {
		if r.scores[doc] == 0 {
			r.found = append(r.found, int(doc))
		}
		r.scores[doc] += r.word[doc]
		r.word[doc] = 0
	}
	r.has = r.has[:0]
}

// count scores one form of the current word, times share, in the documents that have it. It returns the rarity of the
// form, which it limits to most: a rare related word must not count more than the word of the query.
func (r *ranking) count(stem string, share, most float64) float64 {
	id, ok := r.index.terms[stem]
	if !ok {
		return most
	}
	rarity := min(r.index.rarity(id), most)
	list := r.index.docs[id]
	for i := range list {
		p := &list[i]
		if r.word[p.doc] == 0 {
			r.has = append(r.has, p.doc)
		}
		count := r.index.weighted(p)
		r.word[p.doc] = max(r.word[p.doc], share*rarity*count/(saturation+count))
	}
	return rarity
}

// pairs scores adjacent words of the query that are also adjacent in the documents.
func (r *ranking) pairs(docs []int) {
	for i := 1; i < len(r.asked); i++ {
		first, hasFirst := r.index.terms[r.asked[i-1]]
		second, hasSecond := r.index.terms[r.asked[i]]
		if !hasFirst || !hasSecond {
			continue
		}
		rarity := (r.index.rarity(first) + r.index.rarity(second)) / 2
		for _, doc := range docs {
			count := 0.0
			text := r.index.textOf(doc)
			for j := 1; j < len(text); j++ {
				if text[j-1].term == first && text[j].term == second && text[j-1].field == text[j].field {
					count += weights[text[j].field]
				}
			}
			r.scores[doc] += pairWeight * rarity * count / (saturation + count)
		}
	}
}

// names scores the names of documents. A name gains if the query has all its words, or words with
// the same beginning. Otherwise it loses for each word to which no word of the query is related:
// "a price" asks for get_price rather than get_price_history.
func (r *ranking) names(terms []term, docs []int) {
	asked, near := map[uint32]bool{}, map[uint32]bool{}
	for _, t := range terms {
		for _, form := range slices.AppendSeq([]string{t.stem}, r.index.prefixed(t.stem)) {
			if id, ok := r.index.terms[form]; ok {
				asked[id] = true
			}
		}
		for other := range related()[t.stem] {
			if id, ok := r.index.terms[other]; ok {
				near[id] = true
			}
		}
	}
	for _, doc := range docs {
		all := true
		rarity, unasked := 0.0, 0.0
		for _, p := range r.index.textOf(doc) {
			if p.field != inName {
				break
			}
			rarity += r.index.rarity(p.term)
			if !asked[p.term] {
				all = false
				if !near[p.term] {
					unasked += r.index.rarity(p.term)
				}
			}
		}
		if all {
			r.scores[doc] += nameWeight * rarity
		}
		r.scores[doc] -= unaskedWeight * unasked
	}
}

// actions deducts from documents whose verbs, in the name and at the beginning of the description,
// are all for other actions than those of the query: "get the label" does not ask for delete_label.
func (r *ranking) actions(docs []int) {
	asked := map[int]bool{}
	for _, stem := range r.asked {
		if action := actionOf()[stem]; action > 0 {
			asked[action] = true
		}
	}
	if len(asked) == 0 {
		return
	}
	known := map[uint32]int{}
	for stem, action := range actionOf() {
		if id, ok := r.index.terms[stem]; ok {
			known[id] = action
		}
	}
	for _, doc := range docs {
		other, same := false, false
		last := uint8(0) // field
		for _, p := range r.index.textOf(doc) {
			action := known[p.term]
			if action > 0 && (p.field == inName || p.field == inDescription && p.field != last) {
				same = same || asked[action]
				other = other || !asked[action]
			}
			last = p.field
		}
		if other && !same {
			r.scores[doc] -= actionWeight
		}
	}
}

// sort puts the documents with the highest scores first.
func (r *ranking) sort(docs []int) {
	slices.SortFunc(docs, func(a, b int) int { return cmp.Or(cmp.Compare(r.scores[b], r.scores[a]), cmp.Compare(a, b)) })
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
