// Package check renders the manifests of deploy/kubernetes with kustomize, as a library, and decodes them strictly
// into the types of Kubernetes' own API: an unknown field or a value of the wrong type is an error. Then it checks
// that the parts fit each other and the program. It needs no cluster, and cannot tell what one would make of them.
//
// It is a module of its own: what it needs is no part of the service's.
package check
