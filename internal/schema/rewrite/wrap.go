package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Keywords that providers refuse at the root.
var (
	refusedByClaude = []string{"$ref", "allOf", "anyOf", "oneOf"}
	refusedByOpenAI = append(slices.Clip(refusedByClaude), "not", "enum", "const") // no other provider refuses more
)

// WrapperName names the property that holds all arguments for a provider that refuses the root of
// the schema. No string of the schema is equal to it. It is "" for a root that all providers accept.
func WrapperName(root map[string]any) string {
	if !tree.HasAny(root, refusedByOpenAI) {
		return ""
	}
	raw := tree.Show(root)
	for _, name := range []string{"input", "input2", "input3", "input_object"} {
		if !strings.Contains(raw, strconv.Quote(name)) {
			return name
		}
	}
	sum := sha256.Sum256([]byte(raw))
	return "input_" + hex.EncodeToString(sum[:8])
}

// wrapperObject returns a root with one property, which is required.
func wrapperObject(name string, schema map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "description": "Give all arguments in " + strconv.Quote(name) + ".",
		"properties": map[string]any{name: schema}, "required": []any{name},
	}
}

// wrapRoot returns a root with one property, whose subschema is the old root. The identifiers and
// definitions of the document stay at the root.
func wrapRoot(root map[string]any, name string) map[string]any {
	inner := tree.Object(moveRoot(root, &tree.Document{Root: root}, tree.Join("", "properties", name)))
	out := wrapperObject(name, inner)
	out["additionalProperties"] = false
	for _, key := range []string{"$schema", "$id", "id", "$defs", "definitions"} {
		tree.CopyKeys(out, inner, key)
		delete(inner, key)
	}
	inner["type"] = "object"
	return out
}

// followRoot replaces a root that is only a reference by its target, if the target can be copied. It follows up to 16
// references, and returns other roots as they are. A root that refers to itself loses the reference.
func followRoot(root map[string]any, r *report) map[string]any {
	doc := &tree.Document{Root: root, Left: maxSteps}
	out := root
	for range 16 {
		ref, ok := out["$ref"].(string)
		if !ok {
			return out
		}
		found, _ := doc.Resolve(ref)
		target := tree.Object(found)
		if tree.Same(target, root) {
			r.record("", "$ref", profile.Same, "a reference to itself was removed from the root")
			return tree.Without(out, "$ref")
		}
		alone := tree.HasOnly(out, "$ref", "$defs", "definitions", "type") && len(tree.Types(out)) < 2 || isOldDraft(root)
		if !alone || target == nil || uncopyable(target) || tree.HasAny(target, []string{"$defs", "definitions"}) {
			return root
		}
		r.record("", "$ref", profile.Same, "the reference is replaced by what it refers to")
		out = tree.Without(target, "$anchor", "$id", "id")
		tree.CopyKeys(out, root, "$schema", "$id", "id", "$defs", "definitions", "description", "title")
	}
	return root
}

// maxCopied bounds the subschemas of a target that is copied.
const maxCopied = 5_000

// uncopyable reports whether a subschema must not occur twice: it contains identifiers, or is too large.
func uncopyable(s map[string]any) bool {
	n := 0
	for sub := range tree.All(s) {
		n++
		identifiers := []string{"$dynamicAnchor", "$recursiveAnchor"}
		if !tree.Same(sub, s) { // the copy of s itself has neither its anchor nor its local $id
			identifiers = append(identifiers, "$id", "$anchor")
		}
		if n > maxCopied || tree.HasAny(sub, identifiers) {
			return true
		}
	}
	return strings.Trim(tree.Text(s["$id"]), "#") != ""
}

// moveRoot copies a subschema of a document whose root moves to the path to. It adapts the references to the document, with
// the URI of the root or without, but those in a subschema with an $id of its own.
func moveRoot(v any, doc *tree.Document, to string) any {
	s, ok := v.(map[string]any)
	if !ok || doc.MovesBase(s) {
		return v
	}
	out := tree.Map(s, func(_ tree.Place, sub any) any { return moveRoot(sub, doc, to) })
	uri := strings.TrimSuffix(tree.Text(doc.Root["$id"]), "#")
	for _, key := range []string{"$ref", "$dynamicRef"} {
		ref := tree.Text(out[key])
		switch local := strings.TrimPrefix(ref, uri); {
		case ref == "":
		case local == "":
			out[key] = movedReference("#", to)
		case local[0] == '#':
			out[key] = movedReference(local, to)
		}
	}
	return out
}

// movedReference returns a reference to the same place after the root has moved. Anchors and definitions do not move.
func movedReference(ref, to string) string {
	pointer, _ := tree.Fragment(ref)
	stays := pointer != "" && pointer[0] != '/' || strings.HasPrefix(pointer, "/$defs/") || strings.HasPrefix(pointer, "/definitions/")
	if stays {
		return ref
	}
	return "#" + to + ref[1:]
}
