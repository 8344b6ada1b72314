-- dead_letter.lua: moves a stream entry that cannot be decoded to the dead letters. Only a call that finds the entry
-- pending writes the dead letter, so there is only one, however often the call is sent.
--
-- KEYS (one hash slot)
--   1  orders  stream
--   2  dead    stream
-- ARGV
--   1  group
--   2  id of the entry
--   3  why it cannot be decoded, for people
--   4… the entry's fields and values
--
-- Returns 1 (moved) or 0 (no longer pending).
-- The dead letter has the fields key (the entry's id) and why, and the entry's fields with the prefix "raw.". It keeps
-- at most 1,000 of them; then the field left_out has the number of the others.
--
-- Needs: number

local MOST = 1000 -- fields; unpack fails with several thousand elements

local fields = (#ARGV - 3) / 2
if fields < 0 or fields ~= math.floor(fields) then
  return redis.error_reply('ERR dead_letter.lua: bad arguments')
end
local kept = math.min(fields, MOST)
local letter = {'key', ARGV[2], 'why', ARGV[3]}
if kept < fields then
  letter[5], letter[6] = 'left_out', whole(fields - kept)
end
for i = 4, 3 + 2 * kept, 2 do
  letter[#letter + 1] = 'raw.' .. ARGV[i]
  letter[#letter + 1] = ARGV[i + 1]
end
-- Redis does not undo the writes of a script that fails, and an entry acknowledged without a dead letter would be lost.
-- So the command that fails for a key of another type comes first.
redis.call('XLEN', KEYS[1])
redis.call('XLEN', KEYS[2])
-- XACK is never refused for lack of memory, nor is anything after a script's first write.
if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 then
  return 0
end
redis.call('XADD', KEYS[2], '*', unpack(letter))
redis.call('XDEL', KEYS[1], ARGV[2])
return 1
