// Package search finds tools by words that describe their purpose.
//
// It ranks documents by BM25 over fields, see Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond". It also scores related words, adjacent words, and translations between Chinese and English. Documents with
// equal scores keep their order, so that the same query always finds the same tools.
package search

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
