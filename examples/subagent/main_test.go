package main

func Example() {
	main()
	// Output:
	//   open_letter → Letter 1: … we kindly ask for 20 euros by Monday …
	// reader → Pay 20 euros by Monday.
	// You have to pay 20 euros by Monday.
	// 4 model calls, 2 tool calls
}
