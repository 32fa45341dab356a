// Package metakey checks the keys of _meta. Names of extensions have the same form.
package metakey

import (
	"errors"
	"slices"
	"strings"
)

// Prefix begins the names of the protocol's own members of _meta and of its extensions.
const Prefix = "io.modelcontextprotocol/"

// Tasks is the extension for tasks since revision 2026-07-28. Both sides declare it: the client
// with requests about tasks, and with requests whose result may be a task.
const Tasks = Prefix + "tasks"

// Check returns an error for an invalid key (2026-07-28 basic, "_meta"). prefixed reports
// whether it has a prefix, such as com.example/.
func Check(key string) (prefixed bool, err error) {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if prefixed && (!isLetter(label, 0) || !isWord(label, "-")) {
			return prefixed, errors.New("labels before the slash must be letters, digits and hyphens, from a letter to a letter or digit")
		}
	}
	if name != "" && !isWord(name, "-_.") {
		return prefixed, errors.New("name must be letters, digits and -_. between two letters or digits")
	}
	return prefixed, nil
}

// Reserved reports whether a key is reserved for the protocol: the second label of its prefix is
// "modelcontextprotocol" or "mcp".
func Reserved(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	return prefixed && len(labels) > 1 && slices.Contains([]string{"modelcontextprotocol", "mcp"}, labels[1])
}

func isWord(s, inner string) bool {
	for i := range len(s) {
		alphanumeric := isLetter(s, i) || s[i] >= '0' && s[i] <= '9'
		if !alphanumeric && (i == 0 || i == len(s)-1 || strings.IndexByte(inner, s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

func isLetter(s string, i int) bool {
	return i < len(s) && s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z'
}
