package mcpchain_test

import (
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// bentPhrase matches phrases that readers have to read twice, or that have idiomatic alternatives: "is not a", "again",
// "instead of", "continues". See docs/conventions.md.
var bentPhrase = regexp.MustCompile(`(?i)\b(that which|of which|of whom|hand(s|ed|ing)? on|hears? of|(is|are) as of|anew|in the place of|` +
	`(goes?|went|gone|going) on|for ever|could not be begun|(it|this|that|what|which|who) (is|are) (none|no [a-z]+))\b`)

// idiom matches idiomatic uses that bentPhrase would match.
var idiom = regexp.MustCompile(`(?i) no (longer|more|less|use|need|reason|such)\b`)

// TestPlainWords looks for bent phrases in documents and comments.
func TestPlainWords(t *testing.T) {
	for _, path := range sources(t) {
		for _, text := range prose(t, path) {
			text = withoutQuotes(strings.Join(strings.Fields(text), " "))
			for _, found := range bentPhrase.FindAllString(text, -1) {
				check.That(t, idiom.MatchString(found), "%s: %q in %q", path, found, text)
			}
		}
	}
}

// sources returns the files of the repository without test data and installed packages.
func sources(t *testing.T) (paths []string) {
	check.Must(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".git"}, d.Name()) {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	}))
	return paths
}

// prose returns the texts of a file: paragraphs of a document, or comments of code.
func prose(t *testing.T, path string) (texts []string) {
	switch filepath.Ext(path) {
	case ".md":
		document := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(read(t, path), "")
		return regexp.MustCompile(`\n\s*\n|\n\s*[-|]`).Split(document, -1)
	case ".go":
		for _, group := range parseFile(t, token.NewFileSet(), path).Comments {
			texts = append(texts, group.Text())
		}
	}
	return texts
}

// withoutQuotes removes quoted words from a text.
func withoutQuotes(text string) string {
	return regexp.MustCompile("\"[^\"]*\"|`[^`]*`").ReplaceAllString(text, "")
}
