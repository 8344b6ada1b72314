-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too.

ALTER TABLE tb_voucher ADD COLUMN visible_from DATETIME NULL;
CREATE INDEX idx_voucher_visible ON tb_voucher (visible_from);
