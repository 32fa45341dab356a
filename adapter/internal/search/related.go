package search

import (
	"strings"
	"sync"
)

// related maps a stem to the stems of related words and their weights.
var related = sync.OnceValue(func() map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	add := func(groups string, weight float64) {
		for group := range strings.Lines(groups) {
			words := strings.Fields(group)
			for i := range words {
				words[i] = stem(words[i])
			}
			for _, word := range words {
				if out[word] == nil {
					out[word] = map[string]float64{}
				}
				for _, other := range words {
					if other != word {
						out[word][other] = weight
					}
				}
			}
		}
	}
	add(thesaurus, relatedWeight)
	add(synonyms, synonymWeight)
	return out
})

// synonyms has a group of words with the same meaning on each line, or of forms that have no stem in
// common.
const synonyms = `
get fetch retrieve obtain
get tell
search find lookup discover locate query
list show display view
create make generate build
update edit modify change
delete remove erase
write save store
add insert append
read open load
send post
run execute
check verify validate
repair fix
analyze analysis
begin start
buy purchase
choose select
convert conversion
decide decision
describe description
divide division
expand expansion
explain explanation
inquire inquiry query
permit permission
pay payment
replace substitute
sell sale
submit submission
subscribe subscription
address location
author writer
bill invoice
booking reservation
book reserve
chart graph plot
city town
color colour
company corporation firm enterprise
compress zip archive
conference meeting
configuration settings
conversation chat
cost price
cryptocurrency crypto
database db sql
distance length
doctor physician
document doc
documentation docs
error problem issue bug
film movie
folder directory dir
hotel accommodation lodging
illness disease
image picture photo photograph
javascript js
job position occupation
mail email
medicine drug medication
participant attendee guest
phone telephone mobile
plane airplane flight
repository repo
shipping shipment delivery
song track
staff employee personnel
statistics stats metrics
stock share
tag label
train railway
url link
vehicle car automobile
voice speech
website site webpage
`

// thesaurus has a group of related words on each line. A word may be in several groups.
const thesaurus = `
get fetch retrieve obtain read load
search find lookup query discover locate seek
list show display view enumerate
create make generate add new build produce draft
open load read launch
delete remove erase drop clear
update edit modify change set
run execute start launch invoke
stop kill terminate end cancel close
insert add append put embed
convert transform turn export change
compare diff difference comparison
check verify validate test inspect
extract parse get
calculate compute evaluate math arithmetic
analyze analysis analyse examine study assess evaluate
summarize summarise summary abstract overview
recommend suggest recommendation suggestion
describe description explain detail information info
draw paint sketch drawing canvas
copy duplicate clone
move rename
merge combine join
split divide separate
sort order rank
filter select choose
send post publish submit
download save
upload attach
navigate visit browse open go
type input fill enter
click press tap
encode decode encoding
encrypt decrypt hash
translate translation language
image picture photo photograph icon
screenshot capture snapshot
file document
document doc docx word
report document article
markdown md
spreadsheet excel xlsx sheet workbook table csv
presentation powerpoint ppt pptx slide deck
paragraph text content
heading title header
text content string
text characters words
mail email message
answer response result reply
comment reply discussion
song music audio track sound
transcript caption subtitle
chart graph plot diagram visualize visualization figure
tree structure hierarchy outline
web internet online website site page
url link address
location place address position
map location
coordinate latitude longitude geocode geographic
nearby near around close surrounding
route direction navigation path way
distance length travel
size length count number
train railway rail
ticket booking reservation
hotel accommodation lodging stay rental
restaurant food dining cafe
recipe dish meal cook food menu
weather forecast temperature climate
calendar almanac date
date day today
time clock hour now
plan schedule itinerary
latest recent newest current
trend trending hot popular top rank ranking
history historical past
log history record
news headline article story
paper article publication research study preprint
dictionary definition meaning
review rating score
price quote cost value
stock share ticker equity symbol
cryptocurrency crypto bitcoin btc ethereum coin token
gold silver metal commodity asset
currency exchange forex rate money
income profit earnings revenue financial
company corporation business firm
user person people account member author
memory note remember knowledge
task todo job
code source program script
repository repo project
package library module dependency
version release
component element widget
dollar euro yen pound yuan rmb usd eur currency money exchange
buy purchase order
watch show movie film video tv
listen play music song
play game match
check query verify view
find search locate filter
wind rain snow sunny humidity precipitation fahrenheit celsius weather temperature
trip travel vacation journey tour
rent rental lease hire
trade stock
league team sport score
notify notification alert message
remind reminder alarm
calculate determine compute
update modify change amend revise adjust
cheap discount deal coupon bargain offer promotion sale
product item goods merchandise
shop shopping product
course class learn study education
legal law court
medical health doctor hospital
disease symptom illness diagnosis
apartment house home property
book novel
phone telephone call mobile
arrange schedule book appointment
pay payment bill
transfer remittance
technology tech
finance financial economic economy
electronic digital device
school university college
pdf document
youtube video
arxiv paper
twitter tweet social
github repository
wikipedia article
flight airline airplane plane airport
event concert show festival happen
contact phone
near distance
account balance
directory path folder
store keep record remember
write add append insert
obtain get query retrieve
restore recover undo revert
login log sign
topic subject theme
`

// actions has a group of verbs on each line. A tool for one of them does not do what those of another
// line ask for.
const actions = `
get fetch retrieve obtain tell give know read view show check query search find look lookup list display browse inspect see discover locate inquire
create make add insert new generate build book booking reserve reservation register registration post place buy purchase order
update edit modify modification change set rename reschedule
delete deletion remove removal erase clear drop cancel cancellation
send
stop kill terminate end close
start run execute launch begin
`

// actionOf maps the stem of a verb to its line in actions.
var actionOf = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	line := 0
	for group := range strings.Lines(actions) {
		line++
		for word := range strings.FieldsSeq(group) {
			out[stem(word)] = line
		}
	}
	return out
})
