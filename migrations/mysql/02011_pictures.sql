-- +goose Up
-- Pictures of vouchers. Those of shops are in tb_shop.
ALTER TABLE tb_voucher
    ADD COLUMN picture VARCHAR(512) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'its address; NULL: none',
    ALGORITHM = INSTANT;
