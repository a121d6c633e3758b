/* analyse/number.h - numbers and names inside sentences. */
#ifndef HL_ANALYSE_NUMBER_H
#define HL_ANALYSE_NUMBER_H

typedef struct hl_number_text {
  char text[40];
} hl_number_text;

/* Four significant digits, more for whole numbers that have them, no zeros at the end and no
 * exponent where that is readable: "4", "0.8123", "12.5", "123456". */
hl_number_text hl__number(double value);
/* As an argument of a format: hl_text_format(out, "%s ms", HL_NUM(ms)). */
#define HL_NUM(value) (hl__number(value).text)

#endif
