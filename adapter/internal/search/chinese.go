package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// bilingual has on each line English words and the Chinese ones for the same: words that tools are described with. So
// a tool is found that is described in the other language.
//
//go:embed chinese.txt
var bilingual string

const (
	letterBytes = 3 // of each letter in the table
	longest     = 4 // letters of a word there
)

// english has the English words for a Chinese one.
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

// translate yields the English words for the Chinese ones in a text. Of words that begin at the same letter the longest
// one counts.
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
