package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
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

// synonyms has a group of words with the same meaning on each line, or of forms that have no stem in common.
//
//go:embed synonyms.txt
var synonyms string

// thesaurus has a group of related words on each line. A word may be in several groups.
//
//go:embed thesaurus.txt
var thesaurus string

// actions has a group of verbs on each line. A tool for one of them does not do what those of another line ask for.
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

// bilingual has on each line English words and their Chinese translations.
//
//go:embed chinese.txt
var bilingual string

const (
	letterBytes = 3 // of each Chinese letter of bilingual, in UTF-8
	longest     = 4 // letters of its longest Chinese word
)

// english maps a Chinese word to its English translations.
var english = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(bilingual) {
		all := strings.Fields(line)
		first := slices.IndexFunc(all, func(w string) bool { return w[0] >= utf8.RuneSelf })
		for _, chinese := range all[first:] {
			out[chinese] = all[:first]
		}
	}
	return out
})

// translate yields the English translations of the Chinese words in a text. If several words begin
// at the same letter, it uses the longest.
func translate(text string, yield func(word string) bool) bool {
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		for end := min(longest, len(text)/letterBytes) * letterBytes; end > 0; end -= letterBytes {
			if found := english()[text[:end]]; found != nil {
				for _, word := range found {
					if !yield(word) {
						return false
					}
				}
				size = end
				break
			}
		}
		text = text[size:]
	}
	return true
}
