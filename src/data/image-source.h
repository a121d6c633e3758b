/*
 * data/image-source.h - the pictures of a folder as the inputs of a network.
 *
 *     hl_image_folder_open("imagenet/val", &folder, error);
 *     hl_source_of_images(folder, &port, &label, 1000, 0, &source, error);
 *
 * ImageNet's evaluation transform, as torchvision has it: the shorter side is scaled to 256/224 of
 * the input's longer side (256 for 224), bilinear and antialiased, the centre is cut out, values
 * are divided by 255, less mean (.485, .456, .406), divided by (.229, .224, .225).
 */
#ifndef HL_DATA_IMAGE_SOURCE_H
#define HL_DATA_IMAGE_SOURCE_H

#include "data/image-folder.h"
#include "data/image.h"
#include "data/source.h"

/* Whether a port with a batch, (-1, 3, H, W) or (-1, H, W, 3) of float32, can take pictures. */
bool hl_image_port_fits(const hl_port *port);

/* `input` as above; `label`, of any integer type and shape (-1), or NULL. BAD_DATA where labels are
 * wanted and there are none, or more classes than `label_limit` (0: no limit). `max_images` 0: all;
 * else as many, evenly spread over the folder. A picture that turns
 * out to be broken when it is read is replaced by the next one that is not; see hl_source's
 * `problems`. Folder and ports' names are borrowed and outlive the source. */
hl_status hl_source_of_images(const hl_image_folder *folder, const hl_port *input,
                              const hl_port *label, int64_t label_limit, int64_t max_images,
                              hl_image_decoding decoding, hl_source **ret_source, hl_error *error);

/* One picture as the network takes it, into (3, H, W) or (H, W, 3) as `input` has it. LIMIT for one
 * so narrow that it cannot be scaled. */
hl_status hl_image_to_input(const void *data, size_t bytes, const char *what, const hl_port *input,
                            hl_image_decoding decoding, float *ret_values, hl_error *error);

/* Adds the squared differences of two such pictures' 8-bit pixels, for a PSNR. */
double hl_image_input_squares(const float *a, const float *b, const hl_port *input);

#endif
