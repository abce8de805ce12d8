BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE asset_files (
	id VARCHAR(32) NOT NULL, 
	asset_id VARCHAR(32) NOT NULL, 
	file_hash VARCHAR(64) NOT NULL, 
	rows INTEGER NOT NULL, 
	persons INTEGER, 
	text_column TEXT NOT NULL, 
	label_column TEXT NOT NULL, 
	person_column TEXT, 
	added_at VARCHAR(40) NOT NULL, 
	added_by VARCHAR(200) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_file_once UNIQUE (asset_id, file_hash), 
	FOREIGN KEY(asset_id) REFERENCES assets (id)
);
INSERT INTO "asset_files" VALUES('6f7d989dfbfbd7d132129341e0d6d404','9b46f405e13acc0d370056d2dc487b82','a2698dc44e6bd67c91f1067cfdc77e26e86335552fdb84c11bfe2a88ae5f64ee',60,NULL,'text','kind',NULL,'2026-11-30T21:51:48.752+00:00','Ada');
CREATE TABLE asset_persons (
	asset_id VARCHAR(32) NOT NULL, 
	person_hash VARCHAR(32) NOT NULL, 
	label TEXT NOT NULL, 
	batch VARCHAR(32) NOT NULL, 
	PRIMARY KEY (asset_id, person_hash), 
	FOREIGN KEY(asset_id) REFERENCES assets (id)
);
CREATE TABLE asset_rows (
	asset_id VARCHAR(32) NOT NULL, 
	pair_hash VARCHAR(32) NOT NULL, 
	row_hash VARCHAR(32) NOT NULL, 
	weight INTEGER NOT NULL, 
	file_id VARCHAR(32) NOT NULL, 
	PRIMARY KEY (asset_id, pair_hash), 
	FOREIGN KEY(asset_id) REFERENCES assets (id), 
	FOREIGN KEY(file_id) REFERENCES asset_files (id)
);
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','a8595f9931c65d39d300d552da5b45ab','52c302c9b6af47f6e9ed377e7bda813f',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','bb618b6452305b2e9e86bbb67a77d9d3','064545b6eb5aeeca725c271e7c2917a2',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','e07e04fe48f312ace1c3e332e1cc9ec6','1a1d6a722c2721079aa2defca8206704',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','4d55f6716d5cfb6e384ce8153ef7287e','984f8a4bb76714fe573a8c4d365a1fe5',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','af9aef66adf6297c0e38bad8a2afe235','7abd64e3d059914faea0d4360eef59be',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','ff3ef5ddee793f8d5c4619e4d56ed5fb','5d287f8a71365925ebb2cca92c5197c9',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','dd4699a09461659258d40478a73bcc05','e01feccd36a9c29ce0e1eec563bd9a3e',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','2600c6e138c6d999a84201051a484d70','037eab5d68274882026fbf1f0f247f4f',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','cb4c1e4c169c492fa42bfbeea99494f9','9871b0b195010c3c2852efa788f8cded',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','5e20276502c3a84be9cf24a68914c411','e5b000f63357cf5db33bff13352794a5',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','19c592a98cd85f8562e7d3cbfc8666b2','f1bc633820907f6f271a3332d3444e91',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','e83239a0481ec3bf4173e79a82fb3e56','656197d3bac217c0fc0808cefaeb1564',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','5705da375785ea43252172b3dc7a4592','5a613f62bed131568706dd3dd24e2017',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','d335a0a0fde5437dcd6fb4637ffcdc08','95994ea2b74edb08c2b32dc141079a1e',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','99bb1ed2d7ddb0269b922ce01952840a','bed47621308e132a8871eaa562ed5bc3',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','379f99eb6bbc06a5a3a586a5fefc696d','06f55fc609617bea18959a020f9d2005',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','eb70cbb17de692c23f6d78a435d5fa66','e212d3d914a21d8867e88d75cab150f2',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','30e073af575e146b1cceb63661c8a4c9','579a6322c8d06bbe22c54ee115e1b351',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','7cbcb8c139cbc8c667ba770ce6ab85b8','fc1f0423bbff0e4c428a590e52ae8701',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','8a08a844ea8d243051a619b7a68614b2','420b73d7e0f98ee151ac3ae1ad2951f0',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','263e6398ea5f0804eacf49d28d57c6dc','7c4b24ba4dafad4dd85211c56b1c8941',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','02825f0d70688abcf865c8928a37931e','54900d8850d53992ae57ff6541e66376',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','6fd5cd4e2034b8521daf388260394230','2ec1a1fe7b66045779c30534fe629c4e',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','cc1025ccc40e651e567965e33f4b8bb3','0478cb6cad0c05c8df30e57d65c6cce3',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','1299455909d49f4130ebd90d5272ed62','a092175fd7fe5e30a3f2eb141e54ff0b',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','b713accbfcdec1f43bbcb92a86f36b7b','282734d4efb6f3803ae1c9e436a72fbc',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','72b650af5687618e58336a4925d43af2','ae307ce270c04089a6b09e73353c79e3',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','6fe7f4cf3d068a9a83ae18f769cb1926','eec66c1706934476f7e025097f5ebdcf',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','9e53a8ac3711806257a005acc8402fc6','6411e3aac5c7ebfdd077413bc4cf0791',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','50e73d0ef8e432a97bd7145ad3aac6c4','7fcff8dc34cb9417cddbf02591449603',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','d2c5b257bb977fe1fc298737551c62fe','e44d9bfc2cc3a7e4648da1c6807e99c6',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','1436b3deff539a367456dd3a46b8f10a','2159d1153a15e8034d2e97705714b95f',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','8f492a03e475f3638d1313a2d6035330','3a91c01656da8b1f7e815dfd414106b0',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','93bed06d1f3f2920df8086435f1f314f','7248c5369a6e6df706b3188885a43777',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','aa57a888ebb3aa093c188437bd4f2288','e84ea2b4948e6769ae3c7168ee2d63f9',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','dd18821f9d5afeb05e43fd167d34ea1b','f8e9c6c72020d1fc2b1327442173327f',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','6f6b44d54a7a14731dcbcde761e1779e','463ea4b6038b2a6eea0811fadca944a1',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','4fbecb6cf5d8ac588ee5d601ff254eca','2d04f53ee1dfd205502b65e2acf558a1',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','0dcf58d074bdf4770ae53e2b3b2a952b','09cd71e0d11224bb8ea9afbfe5a76d73',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','fc97b863895d08c702a3b0df7eb2e0d8','834b4474cfd145e7805c32928a1c4d4d',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','3fd7beabc2bf0fdd93513cf45fb36863','1b98a78c35d7bbb37cead7dbd464ec7f',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','a95c5f54246533dddac980715841caae','7d4fdec5b7c5babd632bd63c173bac58',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','99a91f0581efb3a4acb939707f323c2e','89c700f762d96c05fe994a4112905e0b',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','4b2beacb2b6e8fde343dcfb2294d45b9','8f89213d22a63ad06a14809378c5b6bf',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','a623a8c61ff8bf5a38462c5d425b290d','7f92524c8374f4a75a1d3c75be2c012b',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','6f55a9b0337ebd442d58b42dccb2f633','0f27a463b5339a7ea45b37a26edfe420',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','2b6ae21dfc2c5bd51136e6fe9b67fa64','8baf520990367f0af3c3ef8a0f3fbc72',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','5ebd6c19163ee1f286ac4c5c09b38bab','9163d1749a2d2463f3433367eabfb78c',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','39f062807d346905a4619c19c0d1b358','af68e6074f20172a15e5db673659f311',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','103230a692d80f24e53e84e2a0edf4c8','d51bf6a9046e1e4d11b8ea2e8bbd5f22',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','5c3416a6c0d1bbec2356f299d172f7f1','2a2a9a93f9365b3168efd36128827718',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','2cb0aa9f6f9293928742885f46915877','ef7d7f325f0d37a210ef5f23ecf1cf2b',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','9c85bf02b0492b3f5dc0c33eedfc73b9','bca5b8bcccedbcfe1db9084a56237e6e',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','8283ba04ba460591aeea7a09984448df','bb228a882213dfc49a09474ee94440b2',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','3ddbfe0b486818afd38e041972f1baa1','7a4d0ac51af67909a983617dadeae1c1',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','e31d64bcf527e31ed7156cdb6d527e80','6816aa7538c0ba30a07773c8cd512167',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','a1c86e640b45132a42a3735167679dfb','7ae6ec195640776654f9fe7f391e65cd',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','e893c101f19f4baba57b2ec8d02cde43','9cbe4aea940e9acafb8d6dac510fb96b',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','709d7aeb47efb2aed0eb13c26a2c81f4','ff4f2e5a5954c7cf33d17ac003a986ac',2,'6f7d989dfbfbd7d132129341e0d6d404');
INSERT INTO "asset_rows" VALUES('9b46f405e13acc0d370056d2dc487b82','5d7628a1273d26d4adbe1978a26cb6f6','5e9593b5de25e561ba4442d84fa4cfec',2,'6f7d989dfbfbd7d132129341e0d6d404');
CREATE TABLE assets (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	owner VARCHAR(200) NOT NULL, 
	unit VARCHAR(10) NOT NULL, 
	person_column TEXT, 
	labels TEXT NOT NULL, 
	epsilon FLOAT NOT NULL, 
	delta FLOAT NOT NULL, 
	rule VARCHAR(10) NOT NULL, 
	renyi_order FLOAT, 
	created_at VARCHAR(40) NOT NULL, 
	created_by VARCHAR(200) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT known_rule CHECK (rule IN ('renyi', 'sum')), 
	UNIQUE (name)
);
INSERT INTO "assets" VALUES('9b46f405e13acc0d370056d2dc487b82','animals','root','row',NULL,'["cat","dog"]',8.0,0.001,'renyi',2.698,'2026-11-30T21:51:48.748+00:00','Ada');
CREATE TABLE events (
	seq BIGINT NOT NULL, 
	at VARCHAR(40) NOT NULL, 
	actor VARCHAR(200) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	asset_id VARCHAR(32), 
	run_id VARCHAR(32), 
	payload TEXT NOT NULL, 
	mac VARCHAR(64) NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "events" VALUES(1,'2026-11-30T21:51:48.750+00:00','Ada','asset-created','9b46f405e13acc0d370056d2dc487b82',NULL,'{"details":{"delta":0.001,"epsilon":8.0,"name":"animals","rule":"renyi"},"facts":[["assets","9b46f405e13acc0d370056d2dc487b82","aa8e4cd3c6d742ad79ccda2839868ab3e06a5fc5c82454dfe83eb6f4c7b82e1b"]]}','b8292f66071b4e5d3f1784759455e6841eb0fa984e9e9bbb3f77b4839d191c6f');
INSERT INTO "events" VALUES(2,'2026-11-30T21:51:48.755+00:00','Ada','file-tied','9b46f405e13acc0d370056d2dc487b82',NULL,'{"details":{"new_rows":60,"persons":null,"rows":60},"facts":[["asset_files","6f7d989dfbfbd7d132129341e0d6d404","1ec3620ba1f75e7a59ff7a0e5e22cde6d2aaaae34cbcfebb6902e311ade815ec"],["asset_rows","6f7d989dfbfbd7d132129341e0d6d404","84f389f88748c59e68572d1bc22057cbb9be15e4778a443cfed82641b1b2000f"]]}','fd8fa16ab70aaf6019fb2e733dc7a3876d77d0293419a156e2a1ddd5dd31b9a8');
INSERT INTO "events" VALUES(3,'2026-11-30T21:51:48.766+00:00','Ada','reserved','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{"delta":0.001,"epsilon":0.9996979871223407,"mechanism":"tang-gaussian","paid_by_all":null},"facts":[["runs","8c44ec57a69366d051ee0bdfbcdc2410","518653c2703675be1465abbf319a4d0bf8f8b37f1b6f453f51fef3e5ffce92cb"],["run_charges","8c44ec57a69366d051ee0bdfbcdc2410","a48fe16b8680ad4e039e2112f53b1f52ef270c661dd27c7e12fc4ac134e5b150"]]}','0155f1f706ab9236e95b905709739d4c2a62070eef2c169e43d668c0c48894a8');
INSERT INTO "events" VALUES(4,'2026-11-30T21:51:48.780+00:00','Ada','started','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{"tokens":0},"facts":[["runs","8c44ec57a69366d051ee0bdfbcdc2410","09eb6a94e9096406d4c6ef2fae40b5f2df470a50666bfce29e569978505ddb08"]]}','29487fee3ab2d406a0650816b62f75b76dc5c3d94050fa80b8309b10f62f2c48');
INSERT INTO "events" VALUES(5,'2026-11-30T21:51:48.860+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/0/0","b5f2ef5c5def6ec09c7a7ec7ba4611aa56ba4e66a9a871bd104dcaba68704323"]]}','6e4483226cdc1b47fe0b9013601414a4dd671fc66e528379fe1f4836b3d25362');
INSERT INTO "events" VALUES(6,'2026-11-30T21:51:48.878+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/1/0","c1a8d2db9eb8e685fff4561aa56888ce124646fe54a8317f6382e3b578f7d1bb"]]}','fab45d5fa98a0252c0292e4a3f325ae05cba45fbc531c75e74e59d5269b060f8');
INSERT INTO "events" VALUES(7,'2026-11-30T21:51:48.889+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/0/1","736097fe5301b2e17afca3d293a8bad1fe68d482f78fece9c18b0189717c0469"]]}','f3daf93734fb06b1a7faaeb83c960a441e59d1427f6310451e0530bf2b85caf0');
INSERT INTO "events" VALUES(8,'2026-11-30T21:51:48.903+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/1/1","10ef012857b39bcca8901a76505f5ab066865c2e9ed5c4e1edd8653ea8b860ad"]]}','b613aec22fb970aa5ed413452d2f7df2f8ebde6c50af22429a1fd69d6cf9671f');
INSERT INTO "events" VALUES(9,'2026-11-30T21:51:48.913+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/0/2","543f23f698c36acbe6a92ca01f0f7dca02a487395edb9d15e8eb5bad8bd8a41d"]]}','5278c75a14d4f633a78d9954a2a04fafc264076039f7d7e0a9a8bc5df4b50c8d');
INSERT INTO "events" VALUES(10,'2026-11-30T21:51:48.926+00:00','Ada','token','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["tokens","8c44ec57a69366d051ee0bdfbcdc2410/1/2","780a376f3434db2857e2136d64439bdd5a3b2f9549bbce8895bbe86436d9caee"]]}','69a3251fd0a18db8ebbf2ba7dc2f6dcde19e4ce2148fdc90e56f14bddb40b56c');
INSERT INTO "events" VALUES(11,'2026-11-30T21:51:48.937+00:00','Ada','finished','9b46f405e13acc0d370056d2dc487b82','8c44ec57a69366d051ee0bdfbcdc2410','{"details":{},"facts":[["runs","8c44ec57a69366d051ee0bdfbcdc2410","9c097256c2ff449ee5fe45265ce8616fef703b477f1aa06dc0f7df7a60ccdff3"]]}','2a7afdb65d15000a38cb715c01a2fc76632fd6adb8dffc9a22c40d7634a1787b');
CREATE TABLE ledger_head (
	id INTEGER NOT NULL, 
	ledger_id VARCHAR(32) NOT NULL, 
	secret_check VARCHAR(64) NOT NULL, 
	events BIGINT NOT NULL, 
	last_mac VARCHAR(64) NOT NULL, 
	head_mac VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT one_head CHECK (id = 1)
);
INSERT INTO "ledger_head" VALUES(1,'7ab4c2836566f2191f60a4845af92ec6','ae8636d459521b9401a0eb9619445fddda3f06055b28474d1cacfe7c3fc9ff95',11,'2a7afdb65d15000a38cb715c01a2fc76632fd6adb8dffc9a22c40d7634a1787b','3eb43a387de413272b622979e665c66101a9e8184361e51f2d55731fcd6a3a2e');
CREATE TABLE run_charges (
	run_id VARCHAR(32) NOT NULL, 
	part INTEGER NOT NULL, 
	label TEXT, 
	sampling_rate FLOAT NOT NULL, 
	composed_tokens INTEGER NOT NULL, 
	mechanism TEXT NOT NULL, 
	divergence FLOAT, 
	epsilon FLOAT NOT NULL, 
	delta FLOAT NOT NULL, 
	PRIMARY KEY (run_id, part), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "run_charges" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',0,'cat',2.66666666666666662965e-01,3,'{"name":"tang-gaussian","parameters":{"sigma":1.6544546022217619,"whole_vocabulary":false}}',1.54594214697301446381e-01,9.99697987122340703258e-01,0.001);
INSERT INTO "run_charges" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',1,'dog',2.66666666666666662965e-01,3,'{"name":"tang-gaussian","parameters":{"sigma":1.6544546022217619,"whole_vocabulary":false}}',1.54594214697301446381e-01,9.99697987122340703258e-01,0.001);
CREATE TABLE runs (
	id VARCHAR(32) NOT NULL, 
	asset_id VARCHAR(32) NOT NULL, 
	file_id VARCHAR(32) NOT NULL, 
	actor VARCHAR(200) NOT NULL, 
	created_at VARCHAR(40) NOT NULL, 
	"plan" TEXT NOT NULL, 
	request TEXT NOT NULL, 
	prices TEXT NOT NULL, 
	model TEXT NOT NULL, 
	mechanism VARCHAR(40) NOT NULL, 
	epsilon FLOAT NOT NULL, 
	delta FLOAT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	runner VARCHAR(32), 
	changed_at VARCHAR(40) NOT NULL, 
	reason TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT known_state CHECK (state IN ('reserved', 'running', 'stopped', 'finished', 'partial')), 
	FOREIGN KEY(asset_id) REFERENCES assets (id), 
	FOREIGN KEY(file_id) REFERENCES asset_files (id)
);
INSERT INTO "runs" VALUES('8c44ec57a69366d051ee0bdfbcdc2410','9b46f405e13acc0d370056d2dc487b82','6f7d989dfbfbd7d132129341e0d6d404','Ada','2026-11-30T21:51:48.762+00:00','{"label_bounds":null,"mechanism":{"name":"tang-gaussian","parameters":{"sigma":1.0,"whole_vocabulary":false}},"min_tokens":1,"per_subset":2,"record_tokens":24,"selection":{"sample":false,"temperature":1.0,"top_p":1.0},"subsets":4,"target_labels":["cat","dog"],"task":{"generation_label_header":"Kind","generation_text_header":"Sentence","icl_instruction":"Say which kind.","icl_label_header":"Kind","icl_text_header":"Sentence","instruction":"Given a kind, write a sentence about it.","labels":["cat","dog"],"min_tokens":2,"name":"animals","open_labels":false,"per_subset":2,"record_tokens":24,"subsets":4,"title":"Animals","tokens":6},"tokens":3,"unit":"row","vocabulary":100}','{"accountant":"tight","delta":0.001,"epsilon":1.0}','[{"composed_tokens":3,"delta":0.001,"epsilon_paper":1.8982391230613698,"epsilon_tight":0.9996979871223407,"label":"cat","mechanism":{"name":"tang-gaussian","parameters":{"sigma":1.6544546022217619,"whole_vocabulary":false}},"pool_units":30,"sampling_rate":0.26666666666666666},{"composed_tokens":3,"delta":0.001,"epsilon_paper":1.8982391230613698,"epsilon_tight":0.9996979871223407,"label":"dog","mechanism":{"name":"tang-gaussian","parameters":{"sigma":1.6544546022217619,"whole_vocabulary":false}},"pool_units":30,"sampling_rate":0.26666666666666666}]','{"device":"cpu","dtype":"float64","files":[],"max_context":2048,"name":"toy","parameters":0,"source":"toy"}','tang-gaussian',9.99697987122340703258e-01,0.001,'finished',NULL,'2026-11-30T21:51:48.936+00:00',NULL);
CREATE TABLE tokens (
	run_id VARCHAR(32) NOT NULL, 
	demonstration INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	token_id INTEGER NOT NULL, 
	ends BOOLEAN NOT NULL, 
	text TEXT NOT NULL, 
	trace TEXT NOT NULL, 
	event BIGINT NOT NULL, 
	PRIMARY KEY (run_id, demonstration, position), 
	FOREIGN KEY(run_id) REFERENCES runs (id), 
	UNIQUE (event)
);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',0,0,277,0,'what','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',5);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',1,0,286,0,'has','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',6);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',0,1,86,0,'whatS','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',7);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',1,1,309,0,'has movie','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',8);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',0,2,63,0,'whatS<','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',9);
INSERT INTO "tokens" VALUES('8c44ec57a69366d051ee0bdfbcdc2410',1,2,12,0,'has movie','{"good_radius":null,"steps":[{"coverage_passed":null,"noise_scale":0.5849380347868499,"radius":0.7071067811865476}],"stopped_by":"single"}',10);
CREATE INDEX ix_events_run_id ON events (run_id);
CREATE INDEX ix_asset_rows_file_id ON asset_rows (file_id);
CREATE INDEX ix_asset_rows_row_hash ON asset_rows (row_hash);
CREATE INDEX ix_runs_asset_id ON runs (asset_id);
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed or removed'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed or removed'); END;
COMMIT;
