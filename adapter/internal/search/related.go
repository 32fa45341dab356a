package search

import (
	_ "embed"
	"strings"
	"sync"
)

// related maps a stem to the stems of related words and their weights.
var related = sync.OnceValue(func() map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	add := func(groups string, weight float64) {
		for group := range strings.Lines(groups) {
			words := strings.Fields(group)
			for i := range words {
				words[i] = stem(words[i])
			}
			for _, word := range words {
				if out[word] == nil {
					out[word] = map[string]float64{}
				}
				for _, other := range words {
					if other != word {
						out[word][other] = weight
					}
				}
			}
		}
	}
	add(thesaurus, relatedWeight)
	add(synonyms, synonymWeight)
	return out
})

// synonyms has a group of words with the same meaning on each line, or of forms that have no stem in
// common.
//
//go:embed synonyms.txt
var synonyms string

// thesaurus has a group of related words on each line. A word may be in several groups.
//
//go:embed thesaurus.txt
var thesaurus string

// actions has a group of verbs on each line. A tool for one of them does not do what those of another
// line ask for.
//
//go:embed actions.txt
var actions string

// actionOf maps the stem of a verb to its line in actions.
var actionOf = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	line := 0
	for group := range strings.Lines(actions) {
		line++
		for word := range strings.FieldsSeq(group) {
			out[stem(word)] = line
		}
	}
	return out
})
