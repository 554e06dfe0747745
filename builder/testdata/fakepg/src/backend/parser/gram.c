int gram_answer(void) { return 2; }
