// Package cost computes the cost of the tokens of models, in whole numbers.
package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/price"
)

// Tokens counts the tokens of a completion.
type Tokens struct {
	Input      int64 // all tokens of the input
	Cached     int64 // part of Input: read from a cache
	CacheWrite int64 // part of Input: written to a cache
	Output     int64 // all tokens of the output
	Reasoning  int64 // part of Output
}

// Money is an amount in millionths of a currency's unit. Without a currency the price is unknown.
type Money struct {
	Currency string `json:"currency"`
	Micro    int64  `json:"micro"`
}

// String is the amount in whole units, such as "1.25 USD".
func (m Money) String() string {
	if m.Currency == "" {
		return "unknown"
	}
	sign, units := "", uint64(m.Micro)
	if m.Micro < 0 {
		sign, units = "-", -units
	}
	text := strings.TrimRight(fmt.Sprintf("%d.%06d", units/1e6, units%1e6), "0")
	return sign + strings.TrimSuffix(text, ".") + " " + m.Currency
}

const (
	maxPrice  = 1_000_000_000_000 // a million units for a million tokens
	maxTokens = 1_000_000_000     // no model reads or writes as much
)

// Check refuses a table that cannot be meant: without a date, or with a price that is negative, too
// high, without a name or a currency, or there twice.
func Check(t *price.Table) error {
	if len(t.Models) == 0 {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, t.Date); err != nil {
		return fmt.Errorf("date is %q, want a day such as \"2026-11-22\": prices change", t.Date)
	}
	seen := map[string]bool{}
	for i, p := range t.Models {
		if err := checkPrice(&p); err != nil {
			return fmt.Errorf("model %d, %q: %w", i, p.Model, err)
		}
		if seen[p.Model] {
			return fmt.Errorf("model %q is there twice", p.Model)
		}
		seen[p.Model] = true
	}
	return nil
}

func checkPrice(p *price.Price) error {
	switch {
	case p.Model == "":
		return errors.New("model has no name")
	case len(p.Currency) != 3 || strings.Trim(p.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("currency is %q, want a code of three letters such as \"USD\"", p.Currency)
	case min(p.Input, p.Cached, p.CacheWrite, p.Output, p.Reasoning) < 0:
		return errors.New("price is negative")
	case max(p.Input, p.Cached, p.CacheWrite, p.Output, p.Reasoning) > maxPrice:
		return errors.New("price is over a million for a million tokens; prices are in millionths")
	}
	return nil
}

// PriceOf returns the price of a model: the first one in the table whose pattern fits. A table that is nil has none.
func PriceOf(t *price.Table, model string) (price.Price, bool) {
	if t == nil {
		return price.Price{}, false
	}
	i := slices.IndexFunc(t.Models, func(p price.Price) bool { return matches(p.Model, model) })
	if i < 0 {
		return price.Price{}, false
	}
	return t.Models[i], true
}

// matches reports whether a name fits a pattern, in which * stands for any text.
func matches(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	name, ok := strings.CutPrefix(name, first)
	if !wild || !ok {
		return ok && name == ""
	}
	for {
		var part string
		part, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, part)
		}
		_, name, ok = strings.Cut(name, part)
		if !ok {
			return false
		}
	}
}

// Of returns the cost of the tokens of a model, rounded up. It returns false if the table has no price.
func Of(t *price.Table, model string, n Tokens) (Money, bool) {
	p, ok := PriceOf(t, model)
	if !ok {
		return Money{}, false
	}
	return At(p, n), true
}

// OfReply returns the cost of a reply, like Of. Hosts reply with the dated name of a model. If that name has no price, the
// price of a requested name counts: of the longest one with which the dated name begins, or else of the first.
func OfReply(t *price.Table, replied string, requested []string, n Tokens) (Money, bool) {
	if amount, ok := Of(t, replied, n); ok {
		return amount, true
	}
	priced := ""
	for _, name := range requested {
		if len(name) > len(priced) && strings.HasPrefix(replied, name) {
			priced = name
		}
	}
	if priced == "" && len(requested) > 0 {
		priced = requested[0]
	}
	return Of(t, priced, n)
}

// At returns the cost of tokens at a price, rounded up. A price of 0 for cached tokens, for tokens
// that are written to a cache or for reasoning is the price of other input or output.
func At(p price.Price, n Tokens) Money {
	var s sum
	s.add(n.Cached, cmp.Or(p.Cached, p.Input))
	s.add(n.CacheWrite, cmp.Or(p.CacheWrite, p.Input))
	s.add(n.Input-n.Cached-n.CacheWrite, p.Input)
	s.add(n.Reasoning, cmp.Or(p.Reasoning, p.Output))
	s.add(n.Output-n.Reasoning, p.Output)
	return Money{p.Currency, s.micro()}
}

// Most returns what so many tokens of input and output may cost at most at a price: the input may be
// written to a cache, and the output may be reasoning.
func Most(p price.Price, input, output int64) Money {
	var s sum
	s.add(input, max(p.Input, p.CacheWrite))
	s.add(output, max(p.Output, p.Reasoning))
	return Money{p.Currency, s.micro()}
}

// Affords returns how many tokens of output an amount buys after so much input, by
// [Most], at most 1,000,000,000. It is negative if the amount is too small for the input.
func Affords(p price.Price, micro, input int64) int64 {
	left := micro - Most(p, input, 0).Micro
	if left < 0 {
		return -1
	}
	each := uint64(max(p.Output, p.Reasoning))
	high, low := bits.Mul64(uint64(left), 1_000_000)
	if high >= each { // also if it is free
		return maxTokens
	}
	tokens, _ := bits.Div64(high, low, each)
	return int64(min(tokens, maxTokens))
}

// sum adds products of tokens and prices, in 128 bits.
type sum struct{ high, low uint64 }

func (s *sum) add(tokens, price int64) {
	tokens, price = min(max(tokens, 0), maxTokens), min(max(price, 0), maxPrice)
	high, low := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high, _ = bits.Add64(s.high, high, carry)
}

// micro is the sum for prices of a million tokens, rounded up.
func (s *sum) micro() int64 {
	quotient, rest := bits.Div64(s.high, s.low, 1_000_000)
	if rest > 0 {
		quotient++
	}
	return int64(quotient)
}

// Limited returns an error that wraps [price.ErrUnpriced] if limits by currency do not hold for a model: it has
// no price, or a price in another currency. No limits hold for every model.
func Limited(t *price.Table, model string, limits map[string]int64) error {
	if len(limits) == 0 {
		return nil
	}
	p, ok := PriceOf(t, model)
	_, limited := limits[p.Currency]
	switch {
	case ok && limited:
		return nil
	case model == "":
		return fmt.Errorf("%w: the model is not named", price.ErrUnpriced)
	case ok && p.Currency != "":
		return fmt.Errorf("%w: there is no limit in %s, the currency of the model %q", price.ErrUnpriced, p.Currency, model)
	case t != nil && t.Date != "":
		return fmt.Errorf("%w: the model %q has no price in the table of %s", price.ErrUnpriced, model, t.Date)
	}
	return fmt.Errorf("%w: the model %q has no price", price.ErrUnpriced, model)
}

// Charge is the usage of a completion, or a bound of it.
type Charge struct {
	Model  string // the name of the model at its host
	Tokens Tokens
	Cost   Money // without a currency if the price is unknown
}

// Account is charged for the completions that somebody else makes for it: a run of an
// agent, for what servers sample during its calls. It is used concurrently.
type Account interface {
	// Reserve reserves an upper bound for a completion before its model is called. An error refuses
	// the completion. Otherwise settle is called once, with the usage of the completion.
	Reserve(most Charge) (settle func(Charge), err error)
}

type accountKey struct{}

// WithAccount returns a context whose completions are charged to an account.
func WithAccount(ctx context.Context, a Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountFrom returns the account of a context, nil if it has none.
func AccountFrom(ctx context.Context) Account {
	a, _ := ctx.Value(accountKey{}).(Account)
	return a
}
