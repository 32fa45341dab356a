package main

func Example() {
	main()
	// Output:
	// the model was told: Error: arguments of final_answer: at "/state": want one of "open", "paid", got string "unpaid". Nothing was done. Correct the arguments and call the tool again.
	// invoice 17 is open and due 2027-05-03: Tea for 3.50
	// 2 model calls
}
