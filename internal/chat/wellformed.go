package chat

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeScalar returns the string or the text of the number in raw, "" for another value.
func decodeScalar(raw []byte) string {
	if text, ok := decodeString(raw); ok {
		return wellFormed(text)
	}
	if len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// decodeString returns a JSON string, which a host may have cut within a character. ok is false for another value.
func decodeString(data []byte) (text string, ok bool) {
	if len(data) < 2 || data[0] != '"' {
		return "", false
	}
	return unquote(data), true
}

// decodeCount returns a count, 0 for a negative or absurd one.
func decodeCount(data []byte) int64 {
	if len(data) > 32 {
		return 0
	}
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil || !(f >= 0 && f < 1<<40) {
		return 0
	}
	return int64(f)
}

// unquote returns the text of a valid JSON string. It keeps invalid UTF-8, and writes one half of a surrogate pair as
// three bytes, so that [wellFormed] can join two halves that a host cut apart.
func unquote(data []byte) string {
	rest := data[1 : len(data)-1]
	if bytes.IndexByte(rest, '\\') < 0 {
		return string(rest)
	}
	out := make([]byte, 0, len(rest))
	for {
		before, after, escaped := bytes.Cut(rest, []byte{'\\'})
		out = append(out, before...)
		if !escaped {
			return string(out)
		}
		if after[0] != 'u' {
			plain := strings.IndexByte(`"\/bfnrt`, after[0]) // a valid string has no others
			out, rest = append(out, "\"\\/\b\f\n\r\t"[plain]), after[1:]
			continue
		}
		r := hexRune(after[1:])
		rest = after[5:]
		if low, ok := bytes.CutPrefix(rest, []byte(`\u`)); ok {
			if pair := utf16.DecodeRune(r, hexRune(low)); pair != utf8.RuneError {
				out, rest = utf8.AppendRune(out, pair), low[4:]
				continue
			}
		}
		if utf16.IsSurrogate(r) {
			out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
}

// hexRune reads four hexadecimal digits.
func hexRune(data []byte) rune {
	n, _ := strconv.ParseUint(string(data[:4]), 16, 16) // they are valid
	return rune(n)
}

// half returns the half of a surrogate pair at the start of a text from [unquote], 0 if there is none.
func half(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

// wellFormed joins the halves of surrogate pairs and replaces invalid UTF-8.
func wellFormed(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if high := half(s[i:]); high != 0 && high < 0xDC00 {
			if pair := utf16.DecodeRune(high, half(s[i+3:])); pair != utf8.RuneError {
				b.WriteRune(pair)
				i += 5
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// wellFormedPieces makes pieces of text well-formed. If a piece ends within a character, the beginning of the character
// is held back.
type wellFormedPieces struct{ held string }

// write adds a piece and returns the text that is complete.
func (p *wellFormedPieces) write(piece string) string {
	if p.held == "" && utf8.ValidString(piece) {
		return piece
	}
	text := p.held + piece
	end := len(text)
	for n := 1; n <= 3 && n <= len(text); n++ {
		tail := text[len(text)-n:]
		if high := half(tail); !utf8.FullRuneInString(tail) || high != 0 && high < 0xDC00 {
			end = len(text) - n
		}
	}
	p.held = text[end:]
	return wellFormed(text[:end])
}

// flush returns the held back bytes at the end of the text.
func (p *wellFormedPieces) flush() string {
	text := wellFormed(p.held)
	p.held = ""
	return text
}
