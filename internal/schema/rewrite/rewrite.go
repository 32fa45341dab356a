// Package rewrite rewrites a JSON Schema for the subset that a model provider accepts, and reports the changes.
//
// Arguments are validated against the original schema, so a rule that a rewritten schema cannot express is
// still checked. Simple ones are added to the descriptions for the model. If a provider cannot express a
// value at all, the model writes it as JSON text, which package toolschema decodes.
//
// What the providers of the profiles accept:
//   - [profile.OpenAI]: JSON Schema with an object without alternatives at the root, and items for every array
//   - [profile.OpenAIStrict]: few keywords; every property is required, and no others are allowed
//   - [profile.Anthropic]: JSON Schema 2020-12 with an object without alternatives at the root, and
//     property names of at most 64 letters, digits and "_.-"
//   - [profile.Gemini]: a subset of OpenAPI 3.0: one type for each schema, no references, only strings in enumerations
//   - [profile.LlamaCpp]: as OpenAI, without large bounds, and with simple patterns only, as it makes a grammar of them
//   - [profile.GoogleAI]: types, descriptions, properties, items and required, which langchaingo forwards to Gemini
package rewrite

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Result is a rewritten schema.
type Result struct {
	Root    map[string]any   // shares parts with the original: change neither
	Changes []profile.Change // without keywords that mean nothing to a model
	Changed bool             // Root may differ from the original
	Strict  bool             // Root is within the subset of [profile.OpenAIStrict]
}

// For rewrites a schema whose root is an object. The schema must have been compiled, so that its
// keywords have values of the right kind. room bounds it together with other schemas; nil bounds it
// alone. A schema that cannot be strict is written for OpenAI, and the first change is the reason.
//
// If the provider refuses a keyword at the root, such as anyOf, the root becomes the schema of one
// property, which [WrapperName] names.
func For(target profile.Profile, root map[string]any, room *Room) Result {
	room = cmp.Or(room, &Room{})
	r := &report{full: min(maxChanges, max(maxListed-room.changes, 0))}
	result := Result{Changed: true}
	switch target {
	case profile.Gemini, profile.GoogleAI:
		result.Root = writeGemini(target, root, r, room)
	case profile.OpenAIStrict:
		if result.Root, result.Strict = writeStrict(root, r); result.Strict {
			result.Changed = r.silent || len(r.changes) > 0
			break
		}
		why := r.changes[len(r.changes)-1]
		result = For(profile.OpenAI, root, room)
		result.Changes = append([]profile.Change{why}, result.Changes...)
		return result
	default:
		result.Root = writeStandard(target, root, r)
		result.Changed = len(r.changes) > 0
	}
	result.Changes = r.changes
	room.changes += len(r.changes)
	return result
}

// writeStandard writes JSON Schema 2020-12, with a root that the target accepts.
func writeStandard(target profile.Profile, root map[string]any, r *report) map[string]any {
	name := WrapperName(root)
	source := followRoot(root, r)
	refused := refusedByOpenAI
	if target == profile.Anthropic {
		refused = refusedByClaude
	}
	wraps := name != "" && tree.HasAny(source, refused)
	if wraps {
		*r = report{full: r.full}
		r.record("", "", profile.Same, wrapNote(name))
		source = wrapRoot(root, name)
	}
	doc := modernize(source, modernOptions{addItems: target == profile.OpenAI, plainNames: target == profile.Anthropic}, r)
	out := doc.Root
	if target == profile.LlamaCpp {
		l := &llama{r, doc}
		out = tree.Object(l.schema(out, ""))
		l.nameRoot(out)
	}
	for _, s := range tree.LostReferences(out) {
		delete(s, "$ref")
		r.record(doc.places[tree.Address(s)], "$ref", profile.Wider, "left to validation, because what it refers to is not written")
	}
	if wraps {
		r.unwrap(tree.Join("", "properties", name))
	} else {
		objectRoot(out, tree.RefersToRoot(root), r)
	}
	if len(r.changes) > 0 {
		delete(out, "$schema")
	}
	return out
}

// objectRoot gives a root the type object, and properties if it has none. referred means that a reference leads to
// the root, so that the type holds elsewhere, too.
func objectRoot(out map[string]any, referred bool, r *report) {
	if len(tree.Types(out)) > 1 {
		effect := profile.Same
		if referred {
			effect = profile.Narrower
		}
		r.record("", "type", effect, "arguments are always an object")
	}
	out["type"] = "object"
	if tree.Object(out["properties"]) == nil {
		out["properties"] = map[string]any{}
	}
}

func wrapNote(name string) string {
	return "moved into the property " + strconv.Quote(name) + ", because the root must be an object without alternatives"
}

// maxDescription bounds a sentence that is added to a description, in bytes.
const maxDescription = 1000

// describe adds a sentence to a description, on a line of its own.
func describe(s map[string]any, sentence string) {
	sentence = excerpt.CutAt(sentence, maxDescription)
	if old := tree.Text(s["description"]); old != "" {
		sentence = old + "\n" + sentence
	}
	s["description"] = sentence
}

// describeDropped adds those of the keywords of in that out does not have to the description.
func describeDropped(out, in map[string]any, keywords ...string) {
	var facts []string
	for _, key := range keywords {
		if value, ok := in[key]; ok {
			if _, kept := out[key]; !kept {
				facts = append(facts, key+": "+tree.Show(value))
			}
		}
	}
	if len(facts) > 0 {
		describe(out, "("+strings.Join(facts, ", ")+")")
	}
}

// number returns a number as schemas have it.
func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// report lists the changes of one result, each once.
type report struct {
	changes []profile.Change
	seen    map[profile.Change]bool
	full    int  // the number of changes that are listed one by one; of the rest, only the first of each keyword and effect
	silent  bool // something was changed that matters to nobody, and is not listed
}

// record adds a change, unless it is listed already.
func (r *report) record(at, keyword string, effect profile.Effect, text string) {
	c := profile.Change{Path: at, Keyword: keyword, Effect: effect, Note: text}
	key := c
	if len(r.changes) >= r.full {
		key = profile.Change{Keyword: keyword, Effect: effect}
		c.Note += "; and more of this kind"
	}
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[profile.Change]bool{}
	}
	r.seen[key] = true
	r.changes = append(r.changes, c)
}

// clone returns a copy. Assigning it to *r later undoes the changes in between.
func (r *report) clone() report {
	return report{slices.Clone(r.changes), maps.Clone(r.seen), r.full, r.silent}
}

// unwrap removes a prefix from the paths of the changes below it.
func (r *report) unwrap(prefix string) {
	for i, c := range r.changes {
		if rest, ok := strings.CutPrefix(c.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			r.changes[i].Path = rest
		}
	}
}
