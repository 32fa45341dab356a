package search

import (
	"cmp"
	"math"
	"slices"
)

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
