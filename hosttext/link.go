package hosttext

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/reach"
)

// Link is a web address from a server or a model, for a person to open.
type Link struct {
	URL  string // the whole address, by [Escape], with spaces encoded
	Host string // the host of the page, with the port

	// Warnings are reasons to doubt the address. Each is one clause without a full stop.
	Warnings []string
}

const (
	maxURL      = 8192 // bytes of an address
	maxWarnings = 6    // one more warning counts the rest

	// maxHost bounds a host and its port, in bytes. An ASCII name has at most 253
	// bytes; other letters need more bytes in UTF-8 than in punycode.
	maxHost = 1000
)

// ParseLink checks a web address. Show its Warnings to the person, who decides. It returns an error if no browser would
// open the address as a web page, or if it is longer than 8 KiB. The error does not contain the address.
func ParseLink(raw string) (*Link, error) {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return nil, errors.New("the address is too long to be shown")
	case err != nil:
		return nil, errors.New("the address cannot be read") // err contains the address
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("not a web address: want http or https")
	case u.Hostname() == "":
		return nil, errors.New("the address names no host")
	case len(u.Host) > maxHost:
		return nil, errors.New("the address names a host that is longer than a name can be")
	}
	l := &Link{URL: encodeSpaces(raw), Host: Escape(u.Host)}
	if u.Scheme == "http" && !reach.ThisMachine(u.Hostname()) {
		l.warn("http is not encrypted: others can read and change what the page says")
	}
	if u.User != nil {
		l.warn("what stands before the @ is a user name; the host follows it")
	}
	l.checkHost(strings.TrimSuffix(u.Hostname(), "."))
	return l, nil
}

// encodeSpaces encodes spaces like a browser.
func encodeSpaces(raw string) string {
	var b strings.Builder
	for _, r := range raw {
		if unicode.Is(unicode.Zs, r) {
			b.WriteString(url.PathEscape(string(r)))
			continue
		}
		b.WriteRune(r)
	}
	return Escape(b.String())
}

// warn adds a warning.
func (l *Link) warn(format string, args ...any) {
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, args...))
}

// delimiterLookalikes look like the characters that end or divide a host. Browsers read some of
// them as the character itself and refuse others.
const delimiterLookalikes = "／⁄∕⧸⟋╱〳．。｡․‧∙？﹖＃﹟＠﹫：﹕꞉∶％﹪＼﹨⧵∖℀℁℅℆"

// checkHost warns of hosts that look like another one.
func (l *Link) checkHost(host string) {
	if isAddress(host) {
		if !reach.ThisMachine(host) {
			l.warn("the host is an IP address, which does not say whose it is")
		}
		return
	}
	if strings.ContainsFunc(host, func(r rune) bool { return !isVisible(r) }) {
		l.warn("the host has invisible characters, written as escapes here")
	}
	if strings.ContainsAny(host, delimiterLookalikes) {
		l.warn("the host has characters that only look like one of . / \\ ? # @ : %%")
	}
	more := 0
	for label := range strings.SplitSeq(host, ".") {
		if warning := labelWarning(label); warning != "" && len(l.Warnings) < maxWarnings {
			l.warn("%s", warning)
		} else if warning != "" {
			more++
		}
	}
	if more > 0 {
		l.warn("more parts of the host are like these: %d", more)
	}
}

// labelWarning returns why a label of a host may look like another name. It does not
// decode punycode, because browsers differ in showing it.
func labelWarning(label string) string {
	switch scripts := scriptNames(label); {
	case strings.HasPrefix(strings.ToLower(label), "xn--"):
		return fmt.Sprintf("a browser may show %s in other letters, like another name (it is in punycode)", Line(label, 70))
	case len(scripts) > 1:
		return fmt.Sprintf("%s mixes scripts%s: it may look like another name", Line(label, 70), inParentheses(scripts))
	case strings.ContainsFunc(label, func(r rune) bool { return r > unicode.MaxASCII }):
		return fmt.Sprintf("%s has characters beyond ASCII%s: it may look like another name", Line(label, 70), inParentheses(scripts))
	}
	return ""
}

// scriptNames names the scripts of a text, in alphabetical order. Characters that many
// scripts share, such as digits, do not count.
func scriptNames(text string) []string {
	found := map[string]bool{}
	for _, r := range text {
		for name, table := range unicode.Scripts {
			if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// inParentheses lists names in parentheses after a space, "" for none.
func inParentheses(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// isAddress reports whether browsers read the host as an IP address: one of version 6 has a colon,
// and a host with a number at its end is one of version 4, in any notation.
func isAddress(host string) bool { return strings.Contains(host, ":") || reach.EndsInNumber(host) }
