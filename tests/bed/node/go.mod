// What the nodes of all releases have in common. It requires nothing itself, so it builds only as a part of one of them:
// the module in the folder of that name says what it is built with.
module coxswain.dev/bed/node

go 1.24.3
