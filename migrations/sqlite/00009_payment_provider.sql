-- +goose Up
-- The same changes as in ../mysql, whose comments hold here too. Applied in one transaction.

ALTER TABLE tb_payment ADD COLUMN provider VARCHAR(32) NOT NULL DEFAULT '';
ALTER TABLE tb_payment ADD COLUMN reference VARCHAR(128) NOT NULL DEFAULT '';
