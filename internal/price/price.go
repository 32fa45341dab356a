// Package price says what the tokens of models cost, in whole numbers.
package price

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Table has the prices of models. Date is required if there are prices. There are no built-in prices: they change, and hosts
// differ.
type Table struct {
	Date   string  `json:"date"` // when they were looked up, such as "2026-11-22"
	Models []Price `json:"models"`
}

// Price is what a million tokens of a model cost, in millionths of a currency's unit:
// Input 1_250_000 is 1.25.
type Price struct {
	// Model is the name of the model at its host, in which * stands for any text. The
	// first price of a table counts whose name fits.
	Model    string `json:"model"`
	Currency string `json:"currency"` // such as "USD"

	Input      int64 `json:"input"`
	Cached     int64 `json:"cached,omitempty"`      // input that is read from a cache; 0: as Input
	CacheWrite int64 `json:"cache_write,omitempty"` // input that is written to a cache; 0: as Input
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty"` // 0: as Output
}

// Tokens counts the tokens of a completion.
type Tokens struct {
	Input      int64 // all tokens of the input
	Cached     int64 // of Input: read from a cache
	CacheWrite int64 // of Input: written to a cache
	Output     int64 // all tokens of the output
	Reasoning  int64 // of Output
}

// Money is an amount in millionths of a currency's unit. Without a currency the
// price is unknown.
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

// Check refuses a table that cannot be meant.
func (t *Table) Check() error {
	if len(t.Models) == 0 {
		return nil
	}
	if _, err := time.Parse(time.DateOnly, t.Date); err != nil {
		return fmt.Errorf("the date is %q, want a day such as \"2026-11-22\": prices change", t.Date)
	}
	seen := map[string]bool{}
	for i, p := range t.Models {
		if err := p.check(); err != nil {
			return fmt.Errorf("model %d, %q: %w", i, p.Model, err)
		}
		if seen[p.Model] {
			return fmt.Errorf("model %q is there twice", p.Model)
		}
		seen[p.Model] = true
	}
	return nil
}

func (p *Price) check() error {
	switch {
	case p.Model == "":
		return errors.New("it has no name")
	case len(p.Currency) != 3 || strings.Trim(p.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return fmt.Errorf("its currency is %q, want a code of three letters such as \"USD\"", p.Currency)
	case min(p.Input, p.Cached, p.CacheWrite, p.Output, p.Reasoning) < 0:
		return errors.New("a price is negative")
	case max(p.Input, p.Cached, p.CacheWrite, p.Output, p.Reasoning) > maxPrice:
		return errors.New("a price is over a million for a million tokens; prices are in millionths")
	}
	return nil
}

// Of returns the price of a model. A table that is nil has none.
func (t *Table) Of(model string) (Price, bool) {
	if t == nil {
		return Price{}, false
	}
	i := slices.IndexFunc(t.Models, func(p Price) bool { return fits(p.Model, model) })
	if i < 0 {
		return Price{}, false
	}
	return t.Models[i], true
}

// fits reports whether a name fits a pattern, in which * stands for any text.
func fits(pattern, name string) bool {
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

// Cost returns what the tokens of a model cost, rounded up, and whether the table has its
// price.
func (t *Table) Cost(model string, n Tokens) (Money, bool) {
	p, ok := t.Of(model)
	if !ok {
		return Money{}, false
	}
	return p.Cost(n), true
}

// Cost returns what the tokens cost, rounded up.
func (p Price) Cost(n Tokens) Money {
	var s sum
	s.add(n.Cached, or(p.Cached, p.Input))
	s.add(n.CacheWrite, or(p.CacheWrite, p.Input))
	s.add(n.Input-n.Cached-n.CacheWrite, p.Input)
	s.add(n.Reasoning, or(p.Reasoning, p.Output))
	s.add(n.Output-n.Reasoning, p.Output)
	return Money{p.Currency, s.micro()}
}

func or(price, otherwise int64) int64 {
	if price == 0 {
		return otherwise
	}
	return price
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

// UnpricedError says that the cost of a model is limited and cannot be told.
type UnpricedError struct {
	Model    string
	Currency string // of its price, "" if it has none
	Date     string // of the prices
}

func (e *UnpricedError) Error() string {
	if e.Model == "" {
		return "the cost is limited, but the model is not named"
	}
	if e.Currency != "" {
		return fmt.Sprintf("the cost is limited, but not in %s, the currency of the model %q", e.Currency, e.Model)
	}
	text := fmt.Sprintf("the cost is limited, but the model %q has no price", e.Model)
	if e.Date != "" {
		text += " in the table of " + e.Date
	}
	return text
}

// Limited returns an [*UnpricedError] if limits by currency do not hold for a model: it has
// no price, or a price in another currency. No limits hold for every model.
func (t *Table) Limited(model string, limits map[string]int64) error {
	if len(limits) == 0 {
		return nil
	}
	p, ok := t.Of(model)
	if _, limited := limits[p.Currency]; ok && limited {
		return nil
	}
	e := &UnpricedError{Model: model, Currency: p.Currency}
	if t != nil {
		e.Date = t.Date
	}
	return e
}
