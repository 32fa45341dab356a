package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	maxName    = 64   // bytes of the longest tool name that every provider accepts
	separator  = "__" // joins the names of server and tool
	hashLength = 8    // hexadecimal digits that distinguish a name
)

// identity identifies the tool that a name stands for, and holds the host's wishes for the name.
type identity struct {
	server, tool string // server is the host's label, "" for a toolset's own tool
	own          string // the host's name for the tool, "" to use tool
	copy         int    // how many sources of a merged one had such a tool before, see Merge
}

// assignNames gives every tool a unique name that all providers accept: [A-Za-z0-9_-], beginning
// with a letter or _, at most 64 bytes. Uniqueness ignores case, as langchaingo's executor does.
// Names depend on the set of tools, not on its order.
//
// Names that collide are prefixed with the server's, as all names are if prefixed is set. Those that still collide get a
// hash. So no tool keeps a name that another one wants, and no server can take over the name of another server's tool.
func assignNames(ids []identity, prefixed bool) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = plainName(id, prefixed)
	}
	for _, i := range collisions(names) {
		names[i] = plainName(ids[i], true)
	}
	addSuffixes(names, ids)
	return names
}

// addSuffixes adds suffixes to names that are not unique. The ids must differ: the names of equal
// ids would collide in every round.
func addSuffixes(names []string, ids []identity) {
	// A second round means that a server has given a tool the hashed name of another one.
	for salt := shortened + 1; ; salt++ {
		colliding := collisions(names)
		if len(colliding) == 0 {
			return
		}
		for _, i := range colliding {
			names[i] = hashedName(names[i], ids[i], salt)
		}
	}
}

// shortened is the salt of names that are hashed only because they are too long.
const shortened = 0

// plainName returns the name of a tool without regard to others.
func plainName(id identity, prefixed bool) string {
	name := legalName(cmp.Or(id.own, id.tool))
	if prefixed {
		name = legalName(cmp.Or(id.server, "toolset")) + separator + name
	}
	if first := name[0]; first == '-' || '0' <= first && first <= '9' {
		name = "_" + name // Gemini and Moonshot require a letter or underscore
	}
	if len(name) > maxName {
		return hashedName(name, id, shortened)
	}
	return name
}

// hashedName appends a hash of the tool's identity, and cuts the name so that both fit into
// maxName. The salt differs in each attempt.
func hashedName(name string, id identity, salt int) string {
	text := strconv.Itoa(salt)
	if id.copy > 0 {
		text += "." + strconv.Itoa(id.copy)
	}
	sum := sha256.Sum256([]byte(text + "\x00" + id.server + "\x00" + id.tool))
	suffix := "_" + hex.EncodeToString(sum[:])[:hashLength]
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// legalName replaces every character that some provider refuses.
func legalName(name string) string {
	legal := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if legal == "" {
		return "_"
	}
	return legal
}

// collisions returns the indexes of names that are not unique, regardless of case.
func collisions(names []string) []int {
	lower := make([]string, len(names))
	count := make(map[string]int, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
		count[lower[i]]++
	}
	var out []int
	for i := range names {
		if count[lower[i]] > 1 {
			out = append(out, i)
		}
	}
	return out
}
