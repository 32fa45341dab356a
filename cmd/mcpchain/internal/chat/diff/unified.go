package diff

import (
	"regexp"
	"strings"
)

var hunkHeader = regexp.MustCompile(`^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)

// Unified reads a text with a diff in the unified format. It is nil if the text has none.
func Unified(text string) (lines []Line) {
	within, found := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if hunkHeader.MatchString(line) {
			within, found = true, true
			lines = append(lines, Line{Heading, line})
			continue
		}
		kind := Heading
		if within {
			switch {
			case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "```"):
				within = false
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
