package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

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
