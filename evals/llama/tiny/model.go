// Package tiny makes a model of two megabytes, which servers of the llama.cpp family serve like any other.
//
// The model is a table: the next token depends on the last one only. Tokens are single bytes and some phrases. The
// template ends each prompt with one of a few marks, and each is a token from which a chain of phrases begins:
//
//	no tools          a greeting, or endless text after "for ever"
//	tools             calls of weather and clock; after "think" with a thought before
//	a tool's result   an answer; after "think" a thought and more calls
//
// If a grammar forbids a phrase, the next best token is one that ends the open string, object or reply. So every grammar
// gets a short text that fits.
package tiny

import (
	_ "embed"
	"math"
	"slices"
	"strings"
)

// Window is the size of the context window in tokens. Almost every byte of a prompt is a token.
const Window = 8192

// What the model says.
const (
	Greeting = "Hello from a tiny model."
	Answer   = "It rains in Oslo."
	Thought  = "I need the weather."

	// EndWords are repeated without end after a prompt that ends with [Forever]. They are more than
	// one token, because Ollama ends a reply that repeats one.
	EndWords = "on and "
)

// What the last words of a prompt or of a tool's result ask for.
const (
	Forever = "for ever" // a reply without end, if there are no tools
	Think   = "think"    // a thought, then calls
)

// Weather and Clock are the tools that the model calls by itself, with Arguments.
const (
	Weather   = "weather"
	Clock     = "clock"
	Arguments = `{"city": "Oslo"}`
)

// Marks of the template.
const (
	markEnd       = "<|end|>"
	markUser      = "<|user|>"
	markAssistant = "<|assistant|>"
	markSystem    = "<|system|>"
	markTool      = "<|tool|>"
	markOffered   = "<|offered|>"  // ends a user's message, if there are tools
	markReturned  = "<|returned|>" // ends a tool's result
	openThought   = "<think>"
	closeThought  = "</think>"
	openCall      = "<tool_call>"
	closeCall     = "\n</tool_call>"
)

// promptEnd ends every prompt, behind what the reply depends on.
const promptEnd = markEnd + markAssistant

// Types of tokens in a file.
const (
	normalToken  int32 = 1
	controlToken int32 = 3
	userToken    int32 = 4 // recognized in prompts before other tokens, the longest first
)

// table is the model: its tokens, and what follows each of them. The first tokens are the bytes.
type table struct {
	texts []string
	types []int32 // one of the types above for each token
	ids   map[string]int
	next  map[int][]int // the phrases that may follow a token, the likeliest first
}

// Model returns the model as a GGUF file, the same at each call.
func Model() []byte {
	t := newTable()
	f := &file{}
	t.writeMetadata(f)
	t.writeWeights(f)
	return f.bytes()
}

// newTable returns the table with all chains of phrases.
func newTable() *table {
	t := &table{ids: map[string]int{}, next: map[int][]int{}}
	for b := range 256 {
		t.token(string([]byte{byte(b)}), normalToken)
	}
	for _, mark := range []string{markEnd, markUser, markAssistant, markSystem, markTool} {
		t.token(mark, controlToken)
	}
	for _, mark := range []string{markOffered, markReturned, openThought, closeThought, openCall} {
		t.token(mark, userToken)
	}
	call := func(name string) string { return `{"name": "` + name + `", "arguments": ` + Arguments + `}` }
	secondCall := closeCall + "\n" + openCall + "\n" + call(Clock)
	t.chain(promptEnd, "Hello", " from", " a", " tiny", " model.", markEnd)
	t.chain(Forever+promptEnd, "on ", "and ", "on ")
	// The line break is a token of its own, because a grammar may begin after it.
	t.chain(markOffered+promptEnd, openCall, "\n", call(Weather), secondCall, closeCall, markEnd)
	t.chain(call(Weather), closeCall)
	t.chain("}", closeCall)
	t.chain(Think+markOffered+promptEnd, openThought, "I need", " the weather.", closeThought, openCall)
	t.chain(markReturned+promptEnd, "It rains", " in", " Oslo.", markEnd)
	t.chain(Think+markReturned+promptEnd, openThought)
	return t
}

// token returns the number of a token, and adds it if it is new.
func (t *table) token(text string, kind int32) int {
	id, ok := t.ids[text]
	if !ok {
		id = len(t.texts)
		t.ids[text] = id
		t.texts = append(t.texts, text)
		t.types = append(t.types, kind)
	}
	return id
}

// chain makes each phrase follow the one before it. The first becomes a token that is found in prompts, if it is new.
func (t *table) chain(first string, rest ...string) {
	last := t.token(first, userToken)
	for _, text := range rest {
		next := t.token(text, normalToken)
		if !slices.Contains(t.next[last], next) {
			t.next[last] = append(t.next[last], next)
		}
		last = next
	}
}

// Scores of tokens, from high to low. A grammar forbids the better ones until a token is left.
const (
	followsScore   float32 = 20 // what the table says; one less for each phrase before it
	endScore       float32 = 12 // the end of the reply
	callScore      float32 = 11 // the beginning of a call, and what ends an empty object or list
	valueScore     float32 = 10 // what ends a value, and then what begins a short one; one less for each
	visibleScore   float32 = 2  // other bytes, in order
	spaceScore     float32 = 1
	lineScore      float32 = 0
	invisibleScore float32 = -10
	misplacedScore float32 = -20 // phrases that the table does not have here
)

// isByte reports whether a token is a single byte, and not a phrase.
func isByte(token int) bool { return token < 256 }

// score returns the logit of next after a token, before sharpening.
func (t *table) score(token, next int) float32 {
	if i := slices.Index(t.next[token], next); i >= 0 {
		return followsScore - float32(i)
	}
	text := t.texts[next]
	switch {
	case text == markEnd:
		return endScore
	case text == openCall && !isByte(token) && token != next: // between phrases, not inside a string
		return callScore
	case !isByte(next):
		return misplacedScore
	case t.texts[token] == "{" && text == "}" || t.texts[token] == "[" && text == "]":
		return callScore
	}
	return scoreByte(text[0])
}

// scoreByte returns the score of a byte that the table does not have here.
func scoreByte(b byte) float32 {
	const first = `"}],1{0a`
	if i := strings.IndexByte(first, b); i >= 0 {
		return valueScore - float32(i)
	}
	switch {
	case b > ' ' && b < 0x7f && b != '\\':
		return visibleScore - float32(b)/256
	case b == ' ':
		return spaceScore
	case b == '\n':
		return lineScore
	}
	return invisibleScore
}

func (t *table) writeMetadata(f *file) {
	texts := make([]string, len(t.texts))
	for i, text := range t.texts {
		texts[i] = text
		if t.types[i] == normalToken {
			texts[i] = gpt2Text(text)
		}
	}
	f.set("general.architecture", "llama")
	f.set("general.name", "tiny")
	f.set("general.file_type", uint32(0)) // floats of 32 bits
	f.set("llama.vocab_size", uint32(len(texts)))
	f.set("llama.context_length", uint32(Window))
	f.set("llama.embedding_length", uint32(t.width()))
	f.set("llama.block_count", uint32(1))
	f.set("llama.feed_forward_length", uint32(feedForwardSize))
	f.set("llama.attention.head_count", uint32(t.width()/headSize))
	f.set("llama.attention.head_count_kv", uint32(1))
	f.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	f.set("llama.rope.dimension_count", uint32(headSize))
	f.set("tokenizer.ggml.model", "gpt2")
	f.set("tokenizer.ggml.pre", "gpt-2")
	f.set("tokenizer.ggml.tokens", texts)
	f.set("tokenizer.ggml.token_type", t.types)
	f.set("tokenizer.ggml.merges", []string{gpt2Text("\x00") + " " + gpt2Text("\x00")}) // servers want one; there is no such token
	f.set("tokenizer.ggml.bos_token_id", uint32(t.ids[markEnd]))
	f.set("tokenizer.ggml.eos_token_id", uint32(t.ids[markEnd]))
	f.set("tokenizer.ggml.add_bos_token", false)
	f.set("tokenizer.chat_template", strings.TrimSpace(template))
}

// gpt2Text writes a text as vocabularies like GPT-2's do: each byte as a printable character.
func gpt2Text(text string) string {
	printable := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	var out []rune
	for _, b := range []byte(text) {
		r := rune(b)
		if !printable(int(b)) {
			r = 256
			for before := range int(b) {
				if !printable(before) {
					r++
				}
			}
		}
		out = append(out, r)
	}
	return string(out)
}

// Sizes of the model.
const (
	headSize        = 64
	feedForwardSize = 32
)

// width returns the length of an embedding: one dimension for each token, rounded up to whole heads.
func (t *table) width() int { return (len(t.texts) + headSize - 1) / headSize * headSize }

// writeWeights writes the weights. The block adds nothing: its output is the embedding of the last token, which the output
// layer multiplies with the table.
func (t *table) writeWeights(f *file) {
	width := t.width()
	zero := func(int, int) float32 { return 0 }
	one := func(int, int) float32 { return 1 }
	f.add("token_embd.weight", width, len(t.texts), func(token, dimension int) float32 {
		if token == dimension {
			return 1
		}
		return 0
	})
	f.add("blk.0.attn_norm.weight", width, 1, one)
	f.add("blk.0.attn_q.weight", width, width, zero)
	f.add("blk.0.attn_k.weight", width, headSize, zero)
	f.add("blk.0.attn_v.weight", width, headSize, zero)
	f.add("blk.0.attn_output.weight", width, width, zero)
	f.add("blk.0.ffn_norm.weight", width, 1, one)
	f.add("blk.0.ffn_gate.weight", width, feedForwardSize, zero)
	f.add("blk.0.ffn_up.weight", width, feedForwardSize, zero)
	f.add("blk.0.ffn_down.weight", feedForwardSize, width, zero)
	f.add("output_norm.weight", width, 1, one)
	// The norm turns a 1 into the root of the width. With this sharpness a token whose score is higher by 1 is certain.
	const sharpness = 20
	scale := sharpness / float32(math.Sqrt(float64(width)))
	f.add("output.weight", width, len(t.texts), func(next, token int) float32 {
		if token >= len(t.texts) {
			return 0
		}
		return scale * t.score(token, next)
	})
}

// template is the chat template.
//
//go:embed template.jinja
var template string

// modelfile is what ollama create needs beside the model: the same template, in Ollama's syntax.
//
//go:embed template.modelfile
var modelfile string

// Modelfile returns what ollama create needs for the model in a file.
func Modelfile(model string) string { return "FROM " + model + "\n" + modelfile }
