// Engine tries the compose stacks as their users start them, on a real Docker engine: make test-compose. It needs root
// on Debian, and no registry.
//
//	outside    installs the engine where it is missing, unpacks packages of Debian, and runs itself again
//	  inside   a network, mounts and a space of processes of its own: ports, rules and containers of the machine are
//	           not touched, and all of it ends with this program, however it ends
//	engine     dockerd, with its data in the user's cache, where only images stay
//	images     stand-ins under the names that the compose files use, made of Debian's packages; what is not as in the
//	           original is printed
//	stack      a clone of the work tree, make env, make up
//	sell       a bounded sale through the published port while something breaks; afterwards each order that a buyer
//	           was told must be in the ledger, and each unit must be sold once
//
// A registry's images differ from the stand-ins in version and in their start scripts; what the stacks rely on of those
// is in images/. Where the machine's limit of open files is below that of the compose files, a second compose file
// lowers it.
package main
