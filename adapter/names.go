package adapter

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is the longest name of a tool that every provider takes.
const maxName = 64

// separator stands between the names of server and tool.
const separator = "__"

// hashLength is the number of hexadecimal digits that make a name unique.
const hashLength = 8

// identity is what a name stands for, and the host's wishes for it.
type identity struct {
	server, tool string
	prefix       string // instead of server, "" for server
	own          string // instead of tool, "" for tool
}

// assignNames gives every tool a name that all providers take ([A-Za-z0-9_-], a
// letter or _ first, at most 64 bytes) and that no other tool has, also when case is ignored, as
// langchaingo's executor does. Names depend on the set of tools only, not on its
// order: where several tools want a name none of them gets it, so that a server
// cannot take the name of another one's tool.
//
// prefixed has each name begin with the server's. Otherwise those do that would collide.
func assignNames(ids []identity, prefixed bool) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = plainName(id, prefixed)
	}
	for _, i := range colliding(names) {
		names[i] = plainName(ids[i], true)
	}
	tellApart(names, ids)
	return names
}

// tellApart gives a suffix to all names that are not unique. The ids must differ.
func tellApart(names []string, ids []identity) {
	// From the second time on, a server has named a tool like the hashed name of another.
	for salt := 0; ; salt++ {
		again := colliding(names)
		if len(again) == 0 {
			return
		}
		for _, i := range again {
			names[i] = hashedName(names[i], ids[i], salt)
		}
	}
}

// plainName is the name that a tool has when nothing stands against it.
func plainName(id identity, prefixed bool) string {
	name := legalName(cmp.Or(id.own, id.tool))
	if prefixed {
		name = legalName(cmp.Or(id.prefix, id.server)) + separator + name
	}
	if first := name[0]; first == '-' || '0' <= first && first <= '9' {
		name = "_" + name // Gemini and Moonshot want a letter or this
	}
	if len(name) > maxName {
		return hashedName(name, id, 0)
	}
	return name
}

// hashedName makes name unlike every other by a hash of what it stands for.
func hashedName(name string, id identity, salt int) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(salt) + "\x00" + id.server + "\x00" + id.tool))
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

// colliding lists the indexes of names that are not unique when case is ignored.
func colliding(names []string) []int {
	count := make(map[string]int, len(names))
	for _, name := range names {
		count[strings.ToLower(name)]++
	}
	var out []int
	for i, name := range names {
		if count[strings.ToLower(name)] > 1 {
			out = append(out, i)
		}
	}
	return out
}
