package diff

import (
	"regexp"
	"strings"
)

var hunkHeader = regexp.MustCompile(`^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)

// Unified returns the lines of a text that has a diff in the unified format, nil for other texts. The lines around the
// diff are headings.
func Unified(text string) (lines []Line) {
	inHunk, found := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if hunkHeader.MatchString(line) {
			inHunk, found = true, true
			lines = append(lines, Line{Heading, line})
			continue
		}
		kind := Heading
		if inHunk {
			switch {
			case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "```"):
				inHunk = false
			case strings.HasPrefix(line, "-"):
				kind, line = Removed, line[1:]
			case strings.HasPrefix(line, "+"):
				kind, line = Added, line[1:]
			case strings.HasPrefix(line, " "):
				kind, line = Same, line[1:]
			}
		}
		lines = append(lines, Line{kind, line})
	}
	if !found {
		return nil
	}
	return lines
}
