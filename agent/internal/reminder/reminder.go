// Package reminder has the texts by which an agent asks its model again for an answer. A reminder
// is the last message of a prompt, in the role of the user, and not part of the history of the run.
package reminder

import (
	"fmt"
	"slices"
	"strings"
)

// Last asks for an answer without tools.
const Last = "No more tool calls are possible. Answer now with what you have, and say what is missing."

const (
	output = "Give your answer now, by calling the tool "
	asText = "Your last message was text, which is not read, also if it has JSON in it. "
	misfit = "Your answer does not fit its schema: "
)

// Output asks for an answer as a call of the tool. afterText is true if the model's last message was
// text.
func Output(tool string, afterText bool) string {
	text := output + tool + "."
	if afterText {
		return asText + text
	}
	return text
}

// Misfit asks for another answer, and says why the last one does not match its schema.
func Misfit(err error) string {
	return fmt.Sprintf(misfit+"%v. Give it again.", err)
}

// Is reports whether a text is a reminder.
func Is(text string) bool {
	return slices.ContainsFunc([]string{Last, output, asText, misfit}, func(begin string) bool { return strings.HasPrefix(text, begin) })
}
