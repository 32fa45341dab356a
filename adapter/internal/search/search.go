// Package search finds tools by words that say what they are for.
//
// It ranks by BM25 over fields, as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond", and counts related words and words that stand together, too. Chinese and English words
// count for each other. Equal scores keep the order of the docs, so that the same query finds the same tools.
package search

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
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
	inText     = 3   // fields: name, title and description
	saturation = 1.2 // of BM25: how much a repeated word counts
	likeness   = 0.3 // how much a related word counts
	kinship    = 0.6 // how much a word of the same beginning counts
	nearness   = 0.6 // how much it counts that two words stand together
	oneWord    = 0.7 // how much two words of a query count that docs write as one
	faintness  = 0.3 // how much a word counts that people use for anything
	wholeName  = 0.2 // how much it counts that a query has all words of a name
	reread     = 50  // docs, the best ones, whose texts are read again
	minKin     = 4   // letters of the shorter one of two words of the same beginning
	maxEnding  = 5   // letters that the longer one has more
	minJoined  = 5   // letters of two words that are one
)

var (
	// weights are how much a word counts in the fields of a doc, in their order.
	weights = [fields]float64{3, 2, 1, 0.5, 2}
	// shortness is, as BM25 has it, how much it counts that a field is short. A tool with many parameters is as good as others.
	shortness = [fields]float64{0.5, 0.5, 0.5, 0.15, 0.5}
)

// Index is an index of docs. It may be used concurrently.
type Index struct {
	terms   map[string]uint32
	sorted  []string    // the terms
	docs    [][]posting // that have a term
	text    []place     // the names, titles and descriptions of all docs, one after the other
	starts  []int       // of the docs in the text
	lengths [][fields]uint16
	average [fields]float64
}

// posting is how often a doc has a word.
type posting struct {
	doc   int32
	count [fields]uint8
}

// place is a word in a field of a doc.
type place struct {
	term  uint32
	field uint8
}

// New makes an index of the docs.
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

// Search returns the docs that have words of the query or related ones, the best first: at most limit. Of the query the
// first 64 words count. A word that no doc has is taken for a known one that differs by one letter.
func (x *Index) Search(query string, limit int) []int {
	asked, joined := x.read(query)
	r := ranking{index: x, asked: asked, scores: make([]float64, len(x.lengths)), word: make([]float64, len(x.lengths))}
	for i, stem := range asked {
		share := 1.0
		if faintWords[stem] {
			share = faintness
		}
		if !slices.Contains(asked[:i], stem) {
			r.add(stem, share)
		}
	}
	for i, stem := range joined {
		if !slices.Contains(asked, stem) && !slices.Contains(joined[:i], stem) {
			r.add(stem, oneWord)
		}
	}
	r.sort(r.found)
	best := r.found[:min(reread, len(r.found))]
	r.pairs(best)
	r.names(joined, best)
	r.sort(best)
	return r.found[:min(max(limit, 0), len(r.found))]
}

// read returns the stems of a query in their order, with those that no doc has spelled as one that docs have, and the
// stems of two words that docs write as one: "log in" is "login", too.
func (x *Index) read(query string) (asked, joined []string) {
	known, before := stems{}, ""
	for word := range words(query) {
		if len(before)+len(word) >= minJoined && before != "" {
			if stem := known.of(before + word); x.has(stem) {
				joined = append(joined, stem)
			}
		}
		before = word
		if stem := known.of(word); stem != "" {
			if !x.has(stem) {
				stem = cmp.Or(x.near(stem), stem)
			}
			if asked = append(asked, stem); len(asked) == maxQuery {
				break
			}
		}
	}
	return asked, joined
}

func (x *Index) has(stem string) bool {
	_, ok := x.terms[stem]
	return ok
}

// ranking is the work on one query.
type ranking struct {
	index  *Index
	asked  []string  // stems of the query
	scores []float64 // of the docs
	word   []float64 // what one word gives to the docs
	has    []int32   // docs that have the word
	found  []int
}

// add counts a word in all docs. A doc with several words that are related has it once, by the best of them.
func (r *ranking) add(stem string, share float64) {
	most := r.count(stem, share, math.Inf(1))
	for _, other := range related()[stem] {
		if !slices.Contains(r.asked, other) {
			r.count(other, share*likeness, most)
		}
	}
	for other := range r.index.kin(stem) {
		if !slices.Contains(r.asked, other) {
			r.count(other, share*kinship, most)
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

// count gives docs a share of what a word counts in them, if they have no more by another word. It returns how much the
// word tells, which is at most the most.
func (r *ranking) count(stem string, share, most float64) float64 {
	id, ok := r.index.terms[stem]
	if !ok {
		return most
	}
	rarity, list := min(r.index.rarity(id), most), r.index.docs[id]
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

// pairs counts the words of a query that stand together in docs as they do in the query.
func (r *ranking) pairs(docs []int) {
	for i := 1; i < len(r.asked); i++ {
		first, ok := r.index.terms[r.asked[i-1]]
		second, too := r.index.terms[r.asked[i]]
		if !ok || !too {
			continue
		}
		rarity := (r.index.rarity(first) + r.index.rarity(second)) / 2
		for _, doc := range docs {
			count, text := 0.0, r.index.text[r.index.starts[doc]:r.index.starts[doc+1]]
			for j := 1; j < len(text); j++ {
				if text[j-1].term == first && text[j].term == second && text[j-1].field == text[j].field {
					count += weights[text[j].field]
				}
			}
			r.scores[doc] += nearness * rarity * count / (saturation + count)
		}
	}
}

// names counts that the query has all words of the name of a doc, or others of their kin.
func (r *ranking) names(joined []string, docs []int) {
	asked := map[uint32]bool{}
	for _, stem := range slices.Concat(r.asked, joined) {
		for _, form := range slices.AppendSeq([]string{stem}, r.index.kin(stem)) {
			if id, ok := r.index.terms[form]; ok {
				asked[id] = true
			}
		}
	}
	for _, doc := range docs {
		tells := 0.0
		for _, p := range r.index.text[r.index.starts[doc]:r.index.starts[doc+1]] {
			if p.field != 0 {
				break
			}
			if !asked[p.term] {
				tells = 0
				break
			}
			tells += r.index.rarity(p.term)
		}
		r.scores[doc] += wholeName * tells
	}
}

// sort puts the best docs first.
func (r *ranking) sort(docs []int) {
	slices.SortFunc(docs, func(a, b int) int { return cmp.Or(cmp.Compare(r.scores[b], r.scores[a]), cmp.Compare(a, b)) })
}

// rarity is how much a word tells: the more docs have it, the less.
func (x *Index) rarity(term uint32) float64 {
	n, has := float64(len(x.lengths)), float64(len(x.docs[term]))
	return math.Log(1 + (n-has+0.5)/(has+0.5))
}

// weighted is how often a doc has a word, by the weights of its fields and their lengths.
func (x *Index) weighted(p *posting) (count float64) {
	for f, n := range p.count {
		if n > 0 {
			length := float64(x.lengths[p.doc][f]) / x.average[f]
			count += weights[f] * float64(n) / (1 - shortness[f] + shortness[f]*length)
		}
	}
	return count
}

// kin are the words of docs that begin with an English word, or that it begins with: "calculator" and "calculate".
func (x *Index) kin(stem string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(stem) < minKin || stem[0] < 'a' || stem[0] > 'z' {
			return
		}
		for n := max(minKin, len(stem)-maxEnding); n < len(stem); n++ {
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

// near is the known word that differs from a mistyped one by one letter, "" for none. Of several it is the one that most
// docs have.
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
